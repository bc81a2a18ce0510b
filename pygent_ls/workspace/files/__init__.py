"""Files on the disk: paths, reading, atomic writes, edit transactions."""
