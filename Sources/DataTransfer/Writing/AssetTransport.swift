public import AssetStore
internal import Foundation
public import NIOCore
internal import NIOPosix
public import RecordStore
public import Records
internal import Synchronization

/// A transport for the bytes of assets to and from a container's environment, local or remote.
public protocol AssetTransport: Sendable {
    /// Uploads a file.
    /// - Parameters:
    ///   - grant: an upload grant from a database of the same container and environment.
    ///   - fileName: the display name of the file, also for downloads.
    /// - Returns: the asset to save in the record, including its receipt.
    /// - Throws: `RecordError` QUOTA_EXCEEDED if the file exceeds the size limit; errors of reading the file.
    func upload(_ file: FileBytes, with grant: UploadGrant, fileName: String?) async throws -> Asset

    /// Downloads the bytes of an asset.
    /// - Parameters:
    ///   - offset: the number of bytes to skip, because the caller has them; less than the size, or 0.
    ///   - take: receives the bytes in order. The next part is read only after it returns.
    /// - Throws: `RecordError` if the download fails; errors of `take`.
    func download(
        _ checksum: FileChecksum, size: Int64, from offset: Int64, _ take: (ByteBuffer) async throws -> Void
    ) async throws
}

/// The folder and the transport that an export or an import uses for the bytes of assets.
public struct AssetExchange: Sendable {
    /// The maximum size of an asset in bytes: 128 TB, more than any real file.
    public static let sizeLimit: Int64 = 1 << 47

    public let folder: AssetFileFolder
    let transport: any AssetTransport

    /// - Parameters:
    ///   - folder: the folder beside the export.
    ///   - transport: reads and writes the assets of the container.
    public init(folder: AssetFileFolder, transport: any AssetTransport) {
        self.folder = folder
        self.transport = transport
    }

    /// Creates the folder if it is missing.
    public func makeFolder() throws { try folder.make() }

    /// Downloads the file of an asset into the folder, unless it is there.
    /// - Parameter progress: receives the number of bytes so far.
    /// - Throws: as ``AssetFileFolder/add(_:size:from:progress:)``.
    public func download(_ checksum: FileChecksum, size: Int64, progress: (Int64) -> Void) async throws {
        try await folder.add(checksum, size: size, from: transport, progress: progress)
    }
}

// MARK: - Assets of this process

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

    public func download(
        _ checksum: FileChecksum, size: Int64, from offset: Int64, _ take: (ByteBuffer) async throws -> Void
    ) async throws {
        // The ticket never expires, because the file stays open for the whole download.
        let ticket = DownloadTicket(checksum: checksum, size: size, expires: Timestamp(milliseconds: .max))
        let file = try await store.open(ticket, coding: .identity)
        let reader = NonBlockingFileIO(threadPool: .singleton)
        var offset = offset
        while true {
            let part = try await reader.read(
                fileHandle: file.handle, fromOffset: offset, byteCount: Self.partLength,
                allocator: ByteBufferAllocator())
            if part.readableBytes == 0 { break }
            offset += Int64(part.readableBytes)
            try await take(part)
        }
        withExtendedLifetime(file) {}
    }
}

// MARK: - Bytes of files

/// The bytes of a file, read in parts on demand.
public struct FileBytes: AsyncSequence, Sendable {
    public typealias Element = ByteBuffer

    private static let partLength = 256 << 10

    /// The size of the file when it was opened, in bytes.
    public let size: Int64
    fileprivate let descriptor: Descriptor

    /// An open file. It is closed with the last reference.
    fileprivate final class Descriptor: Sendable {
        let number: Int32
        let path: String

        init(_ number: Int32, _ path: String) {
            self.number = number
            self.path = path
        }

        deinit { Foundation.close(number) }
    }

    /// Opens a file.
    /// - Throws: ``AssetFileError`` if the path is not a readable regular file.
    init(path: String) throws {
        // Non-blocking, because opening a pipe would otherwise block indefinitely.
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else {
            throw errno == ENOENT ? AssetFileError(path, "there is no such file") : Self.lastFailure(path)
        }
        descriptor = Descriptor(number, path)
        var status = stat()
        guard fstat(number, &status) == 0 else { throw Self.lastFailure(path) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw AssetFileError(path, "it is not a regular file") }
        size = Int64(status.st_size)
    }

    private static func lastFailure(_ path: String) -> AssetFileError {
        AssetFileError(path, String(cString: strerror(errno)), isUnreadable: true)
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        private let descriptor: Descriptor
        private var offset: Int64 = 0

        init(_ file: FileBytes) {
            descriptor = file.descriptor
        }

        public mutating func next() async throws -> ByteBuffer? {
            let part = try await NIOThreadPool.singleton.runIfActive { [descriptor, offset] in
                try FileBytes.part(of: descriptor, at: offset)
            }
            offset += Int64(part?.readableBytes ?? 0)
            return part
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    private static func part(of descriptor: Descriptor, at offset: Int64) throws -> ByteBuffer? {
        var part = ByteBufferAllocator().buffer(capacity: partLength)
        let count = try part.writeWithUnsafeMutableBytes(minimumWritableBytes: partLength) { space in
            while true {
                let count = pread(descriptor.number, space.baseAddress, space.count, off_t(offset))
                if count >= 0 { return count }
                if errno != EINTR { throw lastFailure(descriptor.path) }
            }
        }
        return count == 0 ? nil : part
    }
}

// MARK: - Uploads before a restore

/// Uploads the asset files for records before the records are restored, because each save needs upload receipts.
///
/// Uploads equal bytes only once: later records rereference the asset of the first saved record.
final class AssetSupplier: Sendable {
    /// A record field whose asset could not be uploaded.
    struct Failure: Error {
        /// The index of the operation in its batch.
        let index: Int
        let error: RecordError
    }

    /// An asset in a field of an operation.
    private struct Place {
        let index: Int
        let recordName: Name
        let request: UploadRequest
        /// The index of the asset in the field.
        let number: Int
        let asset: Asset
        let checksum: FileChecksum
    }

    /// A saved record that contains the bytes.
    private struct Home {
        let zoneID: ZoneID
        let source: AssetSource
    }

    private let exchange: AssetExchange
    private let homes = Mutex<[FileChecksum: Home]>([:])

    init(_ exchange: AssetExchange) {
        self.exchange = exchange
    }

    /// Adds receipts to the operations of a batch with assets.
    /// - Throws: ``Failure`` if an upload is refused; ``AssetFileError`` if an asset's file is no longer readable.
    func supply(_ batch: SaveBatch, through database: any RecordDatabase) async throws -> [RecordOperation] {
        let places = try Self.places(in: batch.operations)
        if places.isEmpty { return batch.operations }
        var receipts: [Int: [Name: [Int: String]]] = [:]
        for place in places {
            var receipt: String?
            do {
                receipt = await takenOver(place, in: batch.zoneID, through: database)
                if receipt == nil { receipt = try await uploaded(place, in: batch.zoneID, through: database) }
            } catch let error as RecordError {
                throw Failure(index: place.index, error: error)
            }
            receipts[place.index, default: [:]][place.request.fieldName, default: [:]][place.number] = receipt
        }
        return batch.operations.enumerated().map { index, operation in
            guard let receipts = receipts[index] else { return operation }
            var operation = operation
            for (name, receipts) in receipts { operation.fields[name] = operation.fields[name]?.withReceipts(receipts) }
            return operation
        }
    }

    /// Remembers the locations of the assets in a saved batch.
    func note(_ batch: SaveBatch) {
        // The batch was saved, so this step has already succeeded once.
        guard let places = try? Self.places(in: batch.operations), !places.isEmpty else { return }
        homes.withLock { homes in
            for place in places where homes[place.checksum] == nil {
                let source = AssetSource(
                    recordName: place.recordName, fieldName: place.request.fieldName, index: place.number)
                homes[place.checksum] = Home(zoneID: batch.zoneID, source: source)
            }
        }
    }

    private static func places(in operations: [RecordOperation]) throws(Failure) -> [Place] {
        var places: [Place] = []
        for (index, operation) in operations.enumerated() {
            for (fieldName, input) in operation.fields {
                guard case .tagged(let value, _, _) = input else { continue }
                for (number, asset) in value.assets.enumerated() {
                    guard let recordName = operation.recordName, let type = operation.recordType,
                        let checksum = FileChecksum(asset.fileChecksum)
                    else {
                        let reason = "The asset in field '\(fieldName)' has no checksum from Skylight"
                        throw Failure(index: index, error: RecordError(.badRequest, reason))
                    }
                    let request = UploadRequest(recordType: type, fieldName: fieldName, recordName: recordName)
                    places.append(
                        Place(
                            index: index, recordName: recordName, request: request, number: number, asset: asset,
                            checksum: checksum))
                }
            }
        }
        return places
    }

    /// - Returns: `nil` if no saved record is known to contain the bytes, or if it no longer contains them.
    private func takenOver(_ place: Place, in zoneID: ZoneID, through database: any RecordDatabase) async -> String? {
        guard let home = homes.withLock({ $0[place.checksum] }) else { return nil }
        // The record may have been deleted or changed. Then the bytes are uploaded.
        guard
            case .success(let asset)? = try? await database.require(.uploadAssets).rereference(
                [home.source], from: home.zoneID, to: zoneID
            )
            .first
        else { return nil }
        return Name(asset.fileChecksum) == Name(place.asset.fileChecksum) && asset.size == place.asset.size
            ? asset.receipt : nil
    }

    private func uploaded(_ place: Place, in zoneID: ZoneID, through database: any RecordDatabase) async throws
        -> String?
    {
        let file = try exchange.folder.file(of: place.checksum, size: place.asset.size)
        guard
            let grant = try await database.require(.uploadAssets).grantUploads([place.request], in: zoneID).first?.get()
        else { return nil }
        let asset = try await exchange.transport.upload(file, with: grant, fileName: place.asset.fileName)
        guard Name(asset.fileChecksum) == Name(place.asset.fileChecksum) else {
            throw AssetFileError(exchange.folder.path(of: place.checksum), "it was changed while it was being imported")
        }
        return asset.receipt
    }
}

extension FieldInput {
    /// - Parameter receipts: the receipts by the index of the asset in the field.
    fileprivate func withReceipts(_ receipts: [Int: String]) -> FieldInput {
        guard case .tagged(let value, let type, let isEncrypted) = self else { return self }
        func adding(_ receipt: String?, to value: FieldValue) -> FieldValue {
            guard case .asset(var asset) = value else { return value }
            asset.receipt = receipt
            return .asset(asset)
        }
        switch value {
        case .list(let elements, let elementType):
            return .tagged(
                .list(elements.enumerated().map { adding(receipts[$0], to: $1) }, of: elementType), type,
                isEncrypted: isEncrypted)
        default: return .tagged(adding(receipts[0], to: value), type, isEncrypted: isEncrypted)
        }
    }
}
