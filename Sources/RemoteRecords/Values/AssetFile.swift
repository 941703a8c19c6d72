internal import CloudKitClient
public import Foundation
internal import NIOCore
internal import NIOPosix
public import Records

/// A file of a record: on this machine, on the server, or both.
public struct AssetFile: Sendable, Hashable {
    /// The file on this machine; `nil` until it is downloaded. An upload reads it while the record is saved.
    public var fileURL: URL?
    /// The file as the server knows it; `nil` until it is uploaded.
    public internal(set) var asset: Asset?
    /// Valid for a limited time, for whoever has it; `nil` if the record was not fetched.
    public internal(set) var downloadURL: String?

    /// A file to upload with the next save of its record.
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

/// The bytes of a file on this machine, read in threads that may block.
struct FileBytes: AsyncSequence, Sendable {
    typealias Element = ByteBuffer
    private static let partSize = 128 << 10

    let url: URL

    /// - Returns: the size in bytes.
    /// - Throws: an error of the file system.
    static func size(of url: URL) async throws -> Int64 {
        try await NIOThreadPool.singleton.runIfActive {
            let values = try url.resourceValues(forKeys: [.fileSizeKey, .isRegularFileKey])
            guard values.isRegularFile == true, let size = values.fileSize else { throw CocoaError(.fileReadNoSuchFile) }
            return Int64(size)
        }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        let url: URL
        var handle: FileHandle?

        mutating func next() async throws -> ByteBuffer? {
            let (url, open) = (url, handle)
            let (handle, part) = try await NIOThreadPool.singleton.runIfActive {
                let handle = try open ?? FileHandle(forReadingFrom: url)
                return (handle, try handle.read(upToCount: partSize))
            }
            self.handle = handle
            guard let part, !part.isEmpty else { return nil }
            return ByteBuffer(bytes: part)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(url: url) }

    /// Writes a stream to a file, which replaces one of the same name once all of it is there.
    static func write(_ stream: AssetStream, to url: URL) async throws {
        let part = url.deletingLastPathComponent().appending(path: ".\(url.lastPathComponent).\(UUID().uuidString)")
        let handle = try await NIOThreadPool.singleton.runIfActive {
            try FileManager.default.createDirectory(at: part.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data().write(to: part, options: .withoutOverwriting)
            return try FileHandle(forWritingTo: part)
        }
        do {
            for try await bytes in stream {
                try await NIOThreadPool.singleton.runIfActive { try handle.write(contentsOf: Data(bytes.readableBytesView)) }
            }
            try await NIOThreadPool.singleton.runIfActive {
                try handle.close()
                guard rename(part.path(percentEncoded: false), url.path(percentEncoded: false)) == 0 else { throw CocoaError(.fileWriteUnknown) }
            }
        } catch {
            await remove([part])
            throw error
        }
    }

    /// Removes files, also if the task was cancelled.
    static func remove(_ files: [URL]) async {
        _ = try? await Task { try await NIOThreadPool.singleton.runIfActive { for file in files { try? FileManager.default.removeItem(at: file) } } }.value
    }
}
