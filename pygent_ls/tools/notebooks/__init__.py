"""Text of Jupyter notebooks, with the places of its cells."""
