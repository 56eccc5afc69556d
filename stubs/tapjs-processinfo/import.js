// tap passes this to each process, in place of the recorder: it does nothing.
