"""A folder for `sys.path`: names of modules that the stand-ins have."""
