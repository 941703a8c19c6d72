import Foundation
import NIOCore
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import AssetStore

/// Two stores on one folder and one ledger, as processes with a common database have them.
@Suite struct SharedFolderTests {
    private let folder: TemporaryFolder
    private let ledger = DoctoredLedger()

    init() throws { folder = try TemporaryFolder() }

    private func open(_ ledger: (any AssetLedger)? = nil) async throws -> DoctoredLedger.Store {
        let store = try await AssetStore(
            folder: folder.url.appending(path: "data"), ledger: ledger ?? self.ledger, sizeLimit: 64 << 20,
            threads: FileThreads(), isShared: true,
            compressionPause: .zero, clock: Timestamp.now)
        return DoctoredLedger.Store(folder: folder, store: store)
    }

    /// Something that another process does. It starts once, however often it is asked to.
    private actor Deed {
        private let work: @Sendable () async throws -> Void
        private var task: Task<Void, any Error>?
        private var isOver = false

        init(_ work: @escaping @Sendable () async throws -> Void) {
            self.work = work
        }

        /// Starts it, and waits for its end. If it waits for the caller, it gets half a second.
        func start() async {
            if task != nil { return }
            task = Task {
                defer { isOver = true }
                try await work()
            }
            let start = ContinuousClock.now
            while !isOver, ContinuousClock.now - start < .milliseconds(500) {
                try? await Task.sleep(for: .milliseconds(1))
            }
        }

        func finish() async throws { try await #require(task, "it was started").value }
    }

    /// Puts a file there that no record uses, with or without an entry.
    private func put(_ bytes: [UInt8], entered: Bool, in store: DoctoredLedger.Store) throws {
        try store.put(bytes)
        if !entered { return }
        ledger.entries[bytes.checksum] = AssetEntry(
            checksum: bytes.checksum, size: Int64(bytes.count), useCount: 0, inUseUntil: Timestamp(milliseconds: 0))
    }

    // MARK: Uploads and removals

    @Test(arguments: [true, false])
    func anUploadWaitsForARemovalInAnotherProcess(isEntered: Bool) async throws {
        let bytes = [UInt8].random(1000)
        let one = try await open()
        let upload = Deed { try await one.upload(bytes) }
        let other = try await open(HookedLedger(ledger, at: isEntered ? .struck : .askedFor) { await upload.start() })
        try put(bytes, entered: isEntered, in: one)
        let sweep = try await other.store.sweep(graceTime: .seconds(-60), dryRun: false)
        #expect(sweep.removed.map(\.checksum) == [bytes.checksum])
        try await upload.finish()
        #expect(ledger.entries.count == 1)
        #expect(try await one.problems() == [])
    }

    @Test(arguments: [true, false])
    func aSweepLeavesWhatAnotherProcessIsUploading(isEntered: Bool) async throws {
        let bytes = [UInt8].random(1000)
        let one = try await open()
        let sweep = Deed { _ = try await one.store.sweep(graceTime: .seconds(-60), dryRun: false) }
        let other = try await open(HookedLedger(ledger, at: .entering) { await sweep.start() })
        try put(bytes, entered: isEntered, in: one)
        try await other.upload(bytes)
        try await sweep.finish()
        #expect(ledger.entries.count == 1)
        #expect(try await one.problems() == [])
    }

    /// An upload that can't be entered removes its file, but not while the same bytes are entered elsewhere.
    @Test func anUploadThatFailsLeavesTheFileOfAnotherProcess() async throws {
        let bytes = [UInt8].random(1000)
        let refused = RecordError(.quotaExceeded, "The disk is full")
        let failing = try await open(HookedLedger(ledger, at: .entering) { throw refused })
        let failure = Deed {
            let error = await refusal { try await failing.upload(bytes) }
            #expect(error == refused)
        }
        let other = try await open(HookedLedger(ledger, at: .entering) { await failure.start() })
        try await other.upload(bytes)
        try await failure.finish()
        #expect(ledger.entries.count == 1)
        #expect(try await other.problems() == [])
    }

    /// Both processes upload the same bytes and sweep without a pause.
    @Test(.timeLimit(.minutes(10)))
    func noEntryIsEverWithoutItsFile() async throws {
        let stores = [try await open(), try await open()]
        let files = (0..<3).map { [UInt8].random(2000 + $0, seed: UInt64($0)) }
        let (rounds, removed, uploaded) = (40, Tally(), Tally())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores {
                group.addTask {
                    while uploaded.count < rounds * files.count * stores.count {
                        // A cutoff far in the future makes even new entries removable.
                        removed.add(
                            try await store.store.sweep(graceTime: .seconds(-7200), dryRun: false).removed.count)
                    }
                }
                for bytes in files {
                    group.addTask { [ledger] in
                        for round in 0..<rounds {
                            try await store.upload(bytes)
                            uploaded.add()
                            let lock = try await store.store.lockForUpload(of: bytes.checksum)
                            defer { lock?.unlock() }
                            if ledger.entries[bytes.checksum] == nil { continue }
                            #expect(
                                try store.store.folder.status(of: bytes.checksum)?.size == Int64(bytes.count),
                                "round \(round)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(removed.count > 0, "the sweeps had something to do")
        #expect(try await stores[0].problems() == [])
    }

    // MARK: Unfinished files

    private func unfinished() throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            atPath: folder.url.appending(path: "data/incoming").path(percentEncoded: false))
    }

    @Test func aProcessThatOpensTheStoreEndsNoUploadOfAnother() async throws {
        let one = try await open()
        let (body, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
        let upload = Task { try await one.store.receive(body, ticket: one.ticket(), fileName: nil, declaredSize: nil) }
        sender.yield(ByteBuffer(repeating: 7, count: 1 << 20))
        try await eventually { (try? unfinished().count) == 1 }
        let underWay = try unfinished()
        // A killed process left this one.
        try Data([1, 2]).write(to: folder.url.appending(path: "data/incoming/half"))
        let other = try await open()
        #expect(try unfinished() == underWay)
        sender.finish()
        #expect(try await upload.value.size == 1 << 20)
        // Its compressed form is made there, too.
        try await eventually { (try? unfinished()) == [] }
        #expect(try await other.problems() == [])
    }

    @Test func aProcessThatOpensTheStoreEndsNoCompressionOfAnother() async throws {
        let bytes = [UInt8].text(400_000)
        let one = try await open()
        try put(bytes, entered: true, in: one)
        let compression = try FileCompression(of: bytes.checksum, size: Int64(bytes.count), in: one.store.folder)
        let other = try await open()
        while try compression.step() {}
        #expect(try compression.place())
        #expect(try await other.problems() == [])
    }

    // MARK: What else another process may do

    @Test func aContainerThatAnotherProcessDeletedTakesFilesAgain() async throws {
        let one = try await open()
        try await one.upload([1, 2, 3])
        try FileManager.default.removeItem(at: folder.url.appending(path: "data"))
        ledger.entries = [:]
        try await one.upload([1, 2, 3])
        #expect(try await one.problems() == [])
    }

    @Test func aFileThatAnotherProcessSweptIsNotMissing() async throws {
        let one = try await open()
        let listed = Tally()
        let verifying = try await open(
            HookedLedger(ledger, at: .listed) {
                listed.add()
                // The first time, the entries are only counted.
                if listed.count == 2 { _ = try await one.store.sweep(graceTime: .seconds(-7200), dryRun: false) }
            })
        try await one.upload([1, 2, 3])
        #expect(try await verifying.problems() == [])
        #expect(ledger.entries.isEmpty, "it was swept")
    }
}
