"""Safe options of known programs: options that do no more than the program's name suggests."""
