internal import Foundation

/// A file of a folder that is not complete yet.
final class DraftFile {
    let url: URL
    private let handle: FileHandle

    init(_ url: URL) throws {
        self.url = url
        let descriptor = open(url.path(percentEncoded: false), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw SnapshotError(.unwritable, "'\(url.path(percentEncoded: false))' can't be written: \(String(cString: strerror(errno)))") }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    func write(_ bytes: [UInt8]) throws {
        do { try handle.write(contentsOf: Data(bytes)) } catch { throw failure(error) }
    }

    /// Syncs and closes the file.
    func finish() throws {
        do { try handle.synchronize() } catch { throw failure(error) }
        try close()
    }

    /// Closes the file. It may be lost with the power.
    func close() throws {
        do { try handle.close() } catch { throw failure(error) }
    }

    private func failure(_ error: any Error) -> SnapshotError {
        SnapshotError(.unwritable, "'\(url.path(percentEncoded: false))' can't be written: \(error.localizedDescription)")
    }
}
