public import AssetStore
public import NIOCore
internal import NIOPosix
public import RecordStore
public import Records

/// The transport for an asset store in this process.
public struct StoredAssets: AssetTransport {
    private static let partLength = 256 << 10

    private let store: AssetStore

    public init(_ store: AssetStore) {
        self.store = store
    }

    public func upload(_ file: FileBytes, with grant: UploadGrant, fileName: String?) async throws -> Asset {
        try await store.receive(file, ticket: grant.ticket, fileName: fileName, declaredSize: file.size)
    }

    public func download(_ checksum: FileChecksum, size: Int64, _ take: (ByteBuffer) async throws -> Void) async throws {
        // The ticket never expires, because the file stays open for the whole download.
        let ticket = DownloadTicket(checksum: checksum, size: size, expires: Timestamp(milliseconds: .max))
        let file = try await store.open(ticket, coding: .identity)
        let reader = NonBlockingFileIO(threadPool: .singleton)
        var offset: Int64 = 0
        while true {
            let part = try await reader.read(
                fileHandle: file.handle, fromOffset: offset, byteCount: Self.partLength, allocator: ByteBufferAllocator())
            if part.readableBytes == 0 { break }
            offset += Int64(part.readableBytes)
            try await take(part)
        }
        withExtendedLifetime(file) {}
    }
}
