"""Settings, composition, command line. The only room that reads the environment and the clock."""
