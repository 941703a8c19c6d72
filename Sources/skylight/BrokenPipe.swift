/// The reader of this process's output has closed the pipe.
struct BrokenPipe: Error {}
