"""Entry point of `python -m pygent_ls`."""

from pygent_ls.cli.main import main

if __name__ == "__main__":
    main()
