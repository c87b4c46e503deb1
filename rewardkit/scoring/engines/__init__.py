"""Where the calls of a scoring run are made: in this process, or in worker processes; one interface."""
