"""What programs do with their words: the options of each that are known to do no more than its name says."""
