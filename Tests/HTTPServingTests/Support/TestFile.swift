import Foundation
import NIOCore
import Synchronization
import TestSupport

/// A file with known bytes that counts the answers holding it.
final class TestFile: Sendable {
    static let etag = "cafe"
    /// The entity tag of the compressed form, where a file has one.
    static let compressedTag = "cafe-gzip"
    /// Sunday, 6 November 1994, 08:49:37 GMT.
    static let lastModified: Int64 = 784_111_777

    let bytes: [UInt8]
    let url: URL
    private let folder: TemporaryFolder
    private let count = Mutex(0)

    /// The number of answers that hold the file.
    var openCount: Int { count.withLock { $0 } }

    init(_ bytes: [UInt8]) throws {
        self.bytes = bytes
        folder = try TemporaryFolder()
        url = try folder.write(bytes, to: "file")
    }

    /// Incompressible bytes that are the same in every run.
    static func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        return random.bytes(count)
    }

    func open() throws -> OpenFile {
        count.withLock { $0 += 1 }
        return OpenFile(try Self.handle(url)) { [self] in count.withLock { $0 -= 1 } }
    }

    private static func handle(_ url: URL) throws -> NIOFileHandle {
        try NIOFileHandle(_deprecatedPath: url.path)
    }

    /// Waits until no answer holds the file.
    /// - Returns: true if the file was released within the time limit.
    func isReleased(within limit: Duration = .seconds(60)) async throws -> Bool {
        let start = ContinuousClock.now
        while openCount > 0 {
            if ContinuousClock.now - start > limit { return false }
            try await Task.sleep(for: .milliseconds(10))
        }
        return true
    }
}

/// An open file that is closed with its last reference.
final class OpenFile: Sendable {
    let handle: NIOFileHandle
    private let onClose: @Sendable () -> Void

    init(_ handle: NIOFileHandle, onClose: @escaping @Sendable () -> Void) {
        self.handle = handle
        self.onClose = onClose
    }

    deinit {
        try? handle.close()
        onClose()
    }
}
