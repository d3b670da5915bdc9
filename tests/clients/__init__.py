"""What the tests of other people's clients share: the turns, a line that is cut, and how a client is started."""
