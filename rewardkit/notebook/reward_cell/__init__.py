"""`%%reward`: a cell that is a reward file, tried as soon as it is saved."""
