// tap passes this to each test process, where the plugin would compile: nothing is to be done.
