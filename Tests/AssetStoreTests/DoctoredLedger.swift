import Foundation
import Records
import Synchronization
import TestSupport

@testable import AssetStore
@testable import RecordStore

/// A ledger with answers that the test sets.
final class DoctoredLedger: AssetLedger {
    struct State {
        var entries: [FileChecksum: AssetEntry] = [:]
        var recorded: [RecordedAsset] = []
        /// The error for entering and striking files.
        var refusal: RecordError?
        /// True if refused operations take effect anyway.
        var entersRefused = false
    }

    let tickets = AssetTickets(key: Array(repeating: 7, count: 32))
    private let state = Mutex(State())

    var entries: [FileChecksum: AssetEntry] {
        get { state.withLock { $0.entries } }
        set { state.withLock { $0.entries = newValue } }
    }
    var recorded: [RecordedAsset] {
        get { state.withLock { $0.recorded } }
        set { state.withLock { $0.recorded = newValue } }
    }

    func refuse(_ error: RecordError?, butEnter: Bool = false) {
        state.withLock { state in
            state.refusal = error
            state.entersRefused = butEnter
        }
    }

    func enter(_ checksum: FileChecksum, size: Int64, inUseUntil until: Timestamp) async throws {
        try state.withLock { state in
            if state.refusal == nil || state.entersRefused {
                let useCount = state.entries[checksum]?.useCount ?? 0
                state.entries[checksum] = AssetEntry(
                    checksum: checksum, size: size, useCount: useCount, inUseUntil: until)
            }
            if let refusal = state.refusal { throw refusal }
        }
    }

    func entry(of checksum: FileChecksum) async throws -> AssetEntry? { entries[checksum] }

    func entries(after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry] {
        let entries = entries.values.sorted { $0.checksum < $1.checksum }
        return Array(entries.filter { entry in checksum.map { $0 < entry.checksum } ?? true }.prefix(limit))
    }

    func entries(unusedSince moment: Timestamp, after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry]
    {
        try await entries(after: checksum, limit: .max).filter { $0.useCount == 0 && $0.inUseUntil < moment }.prefix(
            limit
        ).map(\.self)
    }

    func strike(_ checksums: [FileChecksum], unusedSince moment: Timestamp) async throws -> Set<FileChecksum> {
        try state.withLock { state in
            if let refusal = state.refusal, !state.entersRefused { throw refusal }
            let struck = checksums.filter {
                state.entries[$0].map { $0.useCount == 0 && $0.inUseUntil < moment } ?? false
            }
            for checksum in struck { state.entries[checksum] = nil }
            if let refusal = state.refusal { throw refusal }
            return Set(struck)
        }
    }

    func recordedAssets(after place: Int64?) async throws -> RecordedAssetsPage {
        RecordedAssetsPage(assets: recorded, next: nil)
    }

    // MARK: A store with it

    struct Store {
        let folder: TemporaryFolder
        let store: AssetStore

        func put(_ bytes: [UInt8]) throws {
            let path = URL(filePath: store.folder.path(of: bytes.checksum))
            try FileManager.default.createDirectory(
                at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: path)
        }

        func problems() async throws -> [AssetVerification.Problem.Kind] {
            try await store.verify { _ in }.problems.map(\.kind)
        }

        /// A ticket of an upload, as a database would give it out.
        func ticket() -> String {
            let ticket = UploadTicket(
                number: (0..<16).map { _ in UInt8.random(in: .min ... .max) },
                expires: Timestamp(milliseconds: Timestamp.now().milliseconds + AssetTickets.uploadLifetime),
                slot: SlotDigest(bytes: Array(repeating: 1, count: 16)))
            return store.ledger.tickets.seal(ticket)
        }

        /// Paths of the files without their compressed forms, after pending compression has finished.
        func files() async throws -> [String] {
            await store.compressor.finishWaiting()
            return try FileManager.default.subpathsOfDirectory(atPath: folder.url.path(percentEncoded: false)).filter {
                path in
                var isFolder: ObjCBool = false
                let file = folder.url.appending(path: path).path(percentEncoded: false)
                return !path.hasSuffix(".gz") && FileManager.default.fileExists(atPath: file, isDirectory: &isFolder)
                    && !isFolder.boolValue
            }
        }

        @discardableResult
        func upload(_ bytes: [UInt8]) async throws -> Asset {
            try await store.receive(AssetFixture.body(bytes), ticket: ticket(), fileName: nil, declaredSize: nil)
        }
    }

    static func store(_ ledger: DoctoredLedger, compressionPause: Duration = .zero) async throws -> Store {
        let folder = try TemporaryFolder()
        let store = try await AssetStore(
            folder: folder.url.appending(path: "data"), ledger: ledger, sizeLimit: 64 << 20, threads: FileThreads(),
            compressionPause: compressionPause, clock: Timestamp.now)
        return Store(folder: folder, store: store)
    }
}
