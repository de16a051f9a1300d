"""Programs for the command line that other programs start, such as ssh."""
