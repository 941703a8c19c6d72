internal import CloudKitClient
public import Foundation
internal import NIOCore
internal import NIOPosix
public import Records

/// The file of an asset field: on this machine, on the server, or both.
public struct AssetFile: Sendable, Hashable {
    /// The file on this machine; `nil` until it is downloaded. Saving the record uploads it.
    public var fileURL: URL?
    /// The asset as the server represents it; `nil` until the file is uploaded.
    public internal(set) var asset: Asset?
    /// The download address. Anyone who has it can download the file for a limited time. `nil` if the record was not
    /// fetched.
    public internal(set) var downloadURL: String?

    /// Creates a file to upload with the next save of its record.
    public init(fileURL: URL) {
        self.fileURL = fileURL
    }

    init(_ received: ReceivedAsset) {
        asset = received.asset
        downloadURL = received.downloadURL
    }

    init(fileURL: URL?, asset: Asset?, downloadURL: String?) {
        (self.fileURL, self.asset, self.downloadURL) = (fileURL, asset, downloadURL)
    }
}

/// The bytes of a file on this machine, read on threads that may block. Reading fails if the file changes.
struct FileBytes: AsyncSequence, Sendable {
    typealias Element = ByteBuffer
    private static let partSize = 128 << 10

    /// The size of the file in bytes.
    let size: Int64
    private let url: URL
    private let modified: Date?

    /// - Throws: an error of the file system.
    init(of url: URL) async throws {
        self.url = url
        (size, modified) = try await NIOThreadPool.singleton.runIfActive { try Self.state(of: url) }
    }

    private static func state(of url: URL) throws -> (size: Int64, modified: Date?) {
        var url = url
        // Some systems cache these values for a while.
        url.removeAllCachedResourceValues()
        let values = try url.resourceValues(forKeys: [.fileSizeKey, .isRegularFileKey, .contentModificationDateKey])
        guard values.isRegularFile == true, let size = values.fileSize else { throw CocoaError(.fileReadNoSuchFile) }
        return (Int64(size), values.contentModificationDate)
    }

    /// True if the file was written to, even if its size is the same. A deleted file remains readable while it is open.
    private var hasChanged: Bool {
        guard let now = try? Self.state(of: url) else { return false }
        return now != (size, modified)
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let file: FileBytes
        private var handle: FileHandle?
        private var left: Int64

        fileprivate init(_ file: FileBytes) {
            self.file = file
            left = file.size
        }

        /// - Throws: ``OperationError``: `assetFileModified`, before the last bytes; an error of the file system.
        mutating func next() async throws -> ByteBuffer? {
            let (file, open, left) = (file, handle, left)
            if left == 0 { return nil }
            let (handle, part) = try await NIOThreadPool.singleton.runIfActive {
                let handle = try open ?? FileHandle(forReadingFrom: file.url)
                let part = try handle.read(upToCount: Int(Swift.min(left, Int64(partSize)))) ?? Data()
                // With its last bytes, the server would have the whole file.
                if part.isEmpty || part.count == left && file.hasChanged {
                    throw OperationError(
                        .assetFileModified, "The file '\(file.url.lastPathComponent)' changed while it was uploaded")
                }
                return (handle, part)
            }
            self.handle = handle
            self.left -= Int64(part.count)
            return ByteBuffer(bytes: part)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// Writes a stream to a file. The file replaces an existing one after the stream was completely received.
    static func write(_ stream: AssetStream, to url: URL) async throws {
        let part = url.deletingLastPathComponent().appending(path: ".\(url.lastPathComponent).\(UUID().uuidString)")
        let handle = try await NIOThreadPool.singleton.runIfActive {
            try FileManager.default.createDirectory(
                at: part.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data().write(to: part, options: .withoutOverwriting)
            return try FileHandle(forWritingTo: part)
        }
        do {
            for try await bytes in stream {
                try await NIOThreadPool.singleton.runIfActive {
                    try handle.write(contentsOf: Data(bytes.readableBytesView))
                }
            }
            try await NIOThreadPool.singleton.runIfActive {
                try handle.close()
                guard rename(part.path(percentEncoded: false), url.path(percentEncoded: false)) == 0 else {
                    throw CocoaError(.fileWriteUnknown)
                }
            }
        } catch {
            await remove([part])
            throw error
        }
    }

    /// Removes files, even if the task was cancelled.
    static func remove(_ files: [URL]) async {
        _ = try? await Task {
            try await NIOThreadPool.singleton.runIfActive {
                for file in files { try? FileManager.default.removeItem(at: file) }
            }
        }.value
    }
}
