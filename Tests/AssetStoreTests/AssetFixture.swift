import Crypto
import Foundation
import NIOCore
import RecordStore
import Records
import SQLRecordStore
import StoreScenarios
import Synchronization
import TestSupport

@testable import AssetStore

/// A store in a folder of its own, with an engine whose records refer to its files.
struct AssetFixture {
    let folder: TemporaryFolder
    let engine: any RecordEngine
    let stores: AssetStores
    let store: AssetStore
    let clock: MovingClock

    init(sizeLimit: Int64 = 64 << 20, in folder: TemporaryFolder? = nil) async throws {
        let folder = try folder ?? TemporaryFolder()
        let clock = MovingClock()
        let records = try SQLRecordEngine(folder: folder.url, clock: clock.now)
        stores = AssetStores(folder: folder.url, engine: records, sizeLimit: sizeLimit, clock: clock.now)
        let address = try address(.private)
        store = try await stores.store(address.container, address.environment)
        self.engine = records
        self.folder = folder
        self.clock = clock
    }

    func close() async {
        await stores.close()
        await engine.close()
    }

    // MARK: Uploads

    func ticket(for record: Name = "record", in field: Name = "file") async throws -> String {
        let database = try await engine.database(address(.private), as: ada)
        let grants = try await database.require(.uploadAssets).grantUploads(
            [UploadRequest(recordType: "Item", fieldName: field, recordName: record)], in: .default)
        return try grants[0].get().ticket
    }

    @discardableResult
    func upload(
        _ bytes: [UInt8], for record: Name = "record", parts: Int = 64 << 10, named name: String? = nil,
        declaring size: Int64? = nil
    ) async throws -> Asset {
        try await store.receive(
            Self.body(bytes, parts: parts), ticket: ticket(for: record), fileName: name, declaredSize: size)
    }

    static func body(_ bytes: [UInt8], parts: Int = 64 << 10) -> AsyncStream<ByteBuffer> {
        let starts = Array(stride(from: 0, to: bytes.count, by: parts))
        let next = Mutex(0)
        return AsyncStream {
            let index = next.withLock { next in
                defer { next += 1 }
                return next
            }
            return index < starts.count
                ? ByteBuffer(bytes: bytes[starts[index]..<min(starts[index] + parts, bytes.count)]) : nil
        }
    }

    /// Uploads and saves a record that refers to the file.
    @discardableResult
    func save(_ bytes: [UInt8], as record: Name) async throws -> Asset {
        let asset = try await upload(bytes, for: record)
        try await database().save(record, ["file": .asset(asset)])
        return asset
    }

    func database() async throws -> any RecordDatabase { try await engine.database(address(.private), as: ada) }

    // MARK: Downloads

    func ticket(_ checksum: FileChecksum, size: Int64) -> DownloadTicket {
        DownloadTicket(checksum: checksum, size: size, expires: AssetTickets.downloadExpiry(clock.now()))
    }

    func open(_ bytes: [UInt8], _ coding: AssetFile.Coding = .identity) async throws -> AssetFile {
        try await store.open(ticket(bytes.checksum, size: Int64(bytes.count)), coding: coding)
    }

    /// Waits until nothing holds a file that was opened. The thread that opened it lets go of it a moment after the
    /// caller has it, on a busy machine after the caller has closed it.
    func waitUntilFree(_ bytes: [UInt8]) async throws {
        try await eventually { !store.holds.isHeld(bytes.checksum) }
    }

    // MARK: The files on disk

    var assets: URL { folder.url.appending(path: "iCloud.com.example.Test/development.assets") }

    func url(of bytes: [UInt8]) -> URL { assets.appending(path: AssetFolder.name(of: bytes.checksum)) }
    func compressedURL(of bytes: [UInt8]) -> URL {
        assets.appending(path: AssetFolder.name(of: bytes.checksum) + ".gz")
    }

    /// Paths of the files below the folder of assets, without their compressed forms.
    func files() async throws -> Set<String> {
        try await allFiles().filter { !$0.hasSuffix(".gz") }
    }

    /// All files, after pending compression has finished.
    func allFiles() async throws -> Set<String> {
        await store.compressor.finishWaiting()
        guard let walk = FileManager.default.enumerator(atPath: assets.path(percentEncoded: false)) else { return [] }
        var names: Set<String> = []
        while let name = walk.nextObject() as? String {
            if walk.fileAttributes?[.type] as? FileAttributeType == .typeRegular { names.insert(name) }
        }
        return names
    }
}

/// A thread-safe counter.
final class Tally: Sendable {
    private let atomic = Atomic(0)
    var count: Int { atomic.load(ordering: .relaxed) }
    func add(_ count: Int = 1) { atomic.add(count, ordering: .relaxed) }
}

extension [UInt8] {
    var checksum: FileChecksum {
        guard let checksum = FileChecksum(bytes: SHA256.hash(data: self)) else {
            preconditionFailure("SHA-256 has 32 bytes")
        }
        return checksum
    }

    static func random(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        return random.bytes(count)
    }

    /// Text that compresses well.
    static func text(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        var bytes: [UInt8] = []
        while bytes.count < Swift.min(count, 200_000) {
            bytes += Array("line \(UInt16.random(in: .min ... .max, using: &random)) of a text\n".utf8)
        }
        // Repeated beyond the reach of the compression.
        let block = bytes
        while bytes.count < count { bytes += block }
        return Array(bytes.prefix(count))
    }
}

extension AssetFile {
    /// The whole content.
    func bytes() throws -> [UInt8] {
        try handle.withUnsafeFileDescriptor { descriptor in
            var bytes = [UInt8](repeating: 0, count: Int(size))
            let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
            return count == bytes.count ? bytes : []
        }
    }
}
