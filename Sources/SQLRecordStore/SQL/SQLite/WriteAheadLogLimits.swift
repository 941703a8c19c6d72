/// Lengths of the write-ahead log, in pages of 4 KiB, at which the writer starts a checkpoint.
struct WriteAheadLogLimits: Sendable {
    /// Starts a passive checkpoint, which does not wait for readers.
    var checkpoint = 8192
    /// Starts a restart checkpoint at 48 MiB, which waits briefly for readers. Continuous readers would otherwise
    /// keep the log from resetting.
    var restart = 12_288

    /// Pages by which the log must grow before a failed restart is tried again, since each attempt may cost the
    /// writer ``readerPatience``.
    var retry: Int { checkpoint / 16 }

    /// Seconds that the writer waits for readers. Apart from long reads, a read takes milliseconds.
    static let readerPatience = 0.05
}
