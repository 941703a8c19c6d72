/// The end of what is in gzip format.
struct GzipTrailer {
    /// How many bytes are inside, modulo 2³².
    let length: UInt32

    /// - Returns: `nil` when the file is too short.
    init?(of file: DiskFile, size: Int64) throws(DiskFailure) {
        // Ten bytes of header, at least two of content, and the checksum before the length.
        guard size >= 20 else { return nil }
        var bytes: [UInt8] = [0, 0, 0, 0]
        var failure: DiskFailure?
        bytes.withUnsafeMutableBytes { space in
            do throws(DiskFailure) { _ = try file.read(into: space, at: size - 4) } catch { failure = error }
        }
        if let failure { throw failure }
        length = bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
