/// The trailer of gzip data.
struct GzipTrailer {
    /// The uncompressed length, modulo 2³².
    let length: UInt32

    /// - Returns: `nil` if the file is too short.
    init?(of file: DiskFile, size: Int64) throws(DiskFailure) {
        // The minimum is ten bytes of header, two bytes of content, and the checksum and length of four bytes each.
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
