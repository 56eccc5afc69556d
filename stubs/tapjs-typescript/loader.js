// tap passes this to each test process, in place of the plugin's compiler: it does nothing.
