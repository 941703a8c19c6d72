internal import AssetStore
internal import CloudKitClient
internal import NIOCore
internal import NIOPosix
internal import RecordStore
internal import Records
internal import Synchronization

/// Fetches asset files into the mirror's asset store, and reads them for uploads.
///
/// Until the file is fetched, the `fileChecksum` of an asset is the origin's. After that, it is the checksum of the
/// file.
struct FileFetcher: Sendable {
    private let store: AssetStore
    private let ledger: any AssetLedger
    private let isFetching: Bool
    private let meter: MirrorMeter
    let missed = MissedFiles()

    /// - Parameter isFetching: false to only use files that the mirror already has.
    init(_ store: AssetStore, _ ledger: any AssetLedger, isFetching: Bool, _ meter: MirrorMeter) {
        self.store = store
        self.ledger = ledger
        self.isFetching = isFetching
        self.meter = meter
    }

    /// A copy that also fetches files that the mirror lacks.
    var fetchingAll: FileFetcher { FileFetcher(store, ledger, isFetching: true, meter) }

    /// Fetches the files of a page's records. Files that are temporarily unavailable are noted together with the page.
    /// - Parameters: those of ``fetching(_:_:in:isAnswer:problems:)``.
    func bringFiles(
        of batch: inout MirrorBatch, _ received: [Name: ReceivedRecord], in replica: Replica,
        problems: inout [MirrorProblem]
    ) async throws {
        let before = missed.records
        batch.changes = try await fetching(batch.changes, received, in: replica, problems: &problems)
        let new = missed.records.subtracting(before)
        if new.isEmpty { return }
        let mark = Marks.missedFiles(replica.scope)
        batch.marks[mark] = MissedFiles.text(
            of: new.union(MissedFiles.records(in: try await replica.local.require(.mirrorRecords).mirrorMarks()[mark])))
    }

    /// Fetches the files of changes, and returns the changes with the checksums of their files.
    /// - Parameters:
    ///   - received: the records by name, with the addresses of their files.
    ///   - isAnswer: true if the changes are answers to edits, whose files were uploaded from this mirror.
    ///   - problems: receives the files that the origin does not deliver, or that are too large. The records are stored
    ///     without them.
    func fetching(
        _ changes: [MirrorBatch.Change], _ received: [Name: ReceivedRecord], in replica: Replica,
        isAnswer: Bool = false, problems: inout [MirrorProblem]
    ) async throws -> [MirrorBatch.Change] {
        var changes = changes
        let withAssets = try changes.indices.filter {
            try changes[$0].version.record?.fields.decoded().contains { !$0.value.assets.isEmpty } ?? false
        }
        if withAssets.isEmpty { return changes }
        let known = try await replica.local.fetch(withAssets.map { changes[$0].version.recordID }, desiredKeys: nil)
        for (index, previous) in zip(withAssets, known) {
            guard case .saved(var record) = changes[index].version else { continue }
            let before = Dictionary(
                (try? previous.get().fields.decoded().map { ($0.name, $0.value.assets) }) ?? [],
                uniquingKeysWith: { first, _ in first })
            var fields = try record.fields.decoded()
            for number in fields.indices {
                let name = fields[number].name
                var files: [String: String] = [:]
                for (place, asset) in fields[number].value.assets.enumerated() {
                    let candidates = before[name] ?? []
                    var same = candidates.first { $0.originChecksum == asset.fileChecksum }
                    if same == nil, isAnswer, candidates.indices.contains(place),
                        candidates[place].originChecksum == nil, candidates[place].size == asset.size
                    {
                        same = candidates[place]
                    }
                    let source = received[record.recordID.recordName]?.fields[name]?.assets.first {
                        $0.asset.fileChecksum == asset.fileChecksum
                    }
                    files[asset.fileChecksum] = try await file(
                        of: asset, like: same, source, of: record.recordID, name, in: replica, &problems)
                }
                fields[number].value = fields[number].value.mappingAssets { asset in
                    Asset(
                        fileChecksum: files[asset.fileChecksum] ?? asset.fileChecksum, size: asset.size,
                        originChecksum: asset.originChecksum ?? asset.fileChecksum)
                }
            }
            record.fields = FieldsText(fields)
            changes[index].version = .saved(record)
        }
        return changes
    }

    /// - Returns: the checksum of the mirror's file; `nil` if the mirror does not have it.
    private func file(
        of asset: Asset, like same: Asset?, _ source: ReceivedAsset?, of recordID: RecordID, _ field: Name,
        in replica: Replica,
        _ problems: inout [MirrorProblem]
    ) async throws -> String? {
        // If the origin is another Skylight, its checksums are the same.
        for candidate in [same?.fileChecksum, asset.fileChecksum] {
            if let candidate, let checksum = FileChecksum(candidate), try await ledger.entry(of: checksum) != nil {
                return candidate
            }
        }
        guard isFetching, let source else { return nil }
        guard source.asset.size <= store.sizeLimit else {
            problems.append(
                .file(
                    field, of: recordID,
                    reason: "it has \(source.asset.size) bytes, and the limit here is \(store.sizeLimit)"))
            return nil
        }
        do {
            return try await fetched(source, of: recordID, field, in: replica)
        } catch let failure as CloudKitFailure where failure.isOfFile {
            if failure.isForNow { missed.note(recordID) }
            problems.append(
                .file(field, of: recordID, reason: "\(failure)\(failure.isForNow ? ". The next pull asks again" : "")"))
        } catch let error as RecordError where error.code == .badRequest {
            problems.append(.file(field, of: recordID, reason: error.reason))
        }
        return nil
    }

    /// - Throws: `CloudKitFailure`; `RecordError` BAD_REQUEST if the file is not the one that the record names.
    private func fetched(_ source: ReceivedAsset, of recordID: RecordID, _ field: Name, in replica: Replica)
        async throws -> String?
    {
        do {
            return try await fetch(source, in: replica)
        } catch let failure as CloudKitFailure where failure.isWithoutFile {
            // The address may have expired while other files were fetched.
            let zoneID = replica.scope == .public ? ZoneID.default : recordID.zoneID
            let again = try await replica.remote.lookup([recordID.recordName], in: zoneID, desiredKeys: [field])[0]
            if case .failure(let error) = again, error.isTemporary { throw error }
            // Otherwise the record has changed meanwhile, and a later page contains it again.
            let checksum = source.asset.fileChecksum
            guard
                let renewed = try? again.get().fields[field]?.assets.first(where: { $0.asset.fileChecksum == checksum })
            else { return nil }
            return try await fetch(renewed, in: replica)
        }
    }

    private func fetch(_ source: ReceivedAsset, in replica: Replica) async throws -> String {
        try missed.checkServer()
        do {
            let checksum = try await received(source, in: replica)
            missed.noteAnswer()
            return checksum
        } catch let failure as CloudKitFailure {
            if failure.isForNow { missed.noteSilence(failure) } else { missed.noteAnswer() }
            throw failure
        }
    }

    private func received(_ source: ReceivedAsset, in replica: Replica) async throws -> String {
        let ticket = ledger.tickets.seal(
            UploadTicket(
                storingUntil: Timestamp(milliseconds: Timestamp.now().milliseconds + AssetTickets.uploadLifetime)))
        let stream = try replica.remoteFiles.download(source)
        let stored = try await store.receive(stream, ticket: ticket, fileName: nil, declaredSize: source.asset.size)
        // If the origin is another Skylight, it names files by their content.
        if FileChecksum(source.asset.fileChecksum) != nil, stored.fileChecksum != source.asset.fileChecksum {
            throw RecordError(.badRequest, "the file that came has another checksum than the record says")
        }
        meter.change { progress in
            progress.files += 1
            progress.fileBytes += source.asset.size
        }
        return stored.fileChecksum
    }

    /// Opens a file of the mirror.
    /// - Throws: `RecordError` if the mirror does not have the file.
    func open(_ asset: Asset) async throws -> StoredFile {
        guard let checksum = FileChecksum(asset.fileChecksum) else {
            throw RecordError(.notFound, "The mirror does not have the file")
        }
        let ticket = DownloadTicket(checksum: checksum, size: asset.size, expires: Timestamp(milliseconds: .max))
        return StoredFile(file: try await store.open(ticket, coding: .identity))
    }
}

/// The files that were temporarily unavailable during one pull.
///
/// Each unavailable file costs minutes of waiting. If several consecutive files are unavailable, their server is down,
/// and no more files are requested.
final class MissedFiles: Sendable {
    private static let silenceLimit = 3
    /// The maximum number of records that are remembered for the next pull.
    private static let limit = 1000

    private struct State {
        var records: Set<RecordID> = []
        /// The number of consecutive failures.
        var silences = 0
        var latest: CloudKitFailure?
    }

    private let state = Mutex(State())

    var records: Set<RecordID> { state.withLock { $0.records } }

    func note(_ recordID: RecordID) { state.withLock { _ = $0.records.insert(recordID) } }

    func noteAnswer() { state.withLock { $0.silences = 0 } }

    func noteSilence(_ failure: CloudKitFailure) {
        state.withLock { state in
            state.silences += 1
            state.latest = failure
        }
    }

    /// - Throws: the latest failure, if the files before this one were unavailable too.
    func checkServer() throws {
        try state.withLock { state in
            if state.silences >= Self.silenceLimit, let latest = state.latest { throw latest }
        }
    }

    // MARK: Marks

    /// The records as the text of a mark; `nil` if there are none.
    static func text(of records: Set<RecordID>) -> String? {
        if records.isEmpty { return nil }
        let rows = records.map { [$0.zoneID.zoneName, $0.zoneID.ownerRecordName ?? "", $0.recordName] }.sorted {
            $0.lexicographicallyPrecedes($1)
        }
        var writer = JSONWriter()
        writer.array { writer in
            for row in rows.prefix(limit) { writer.array { writer in for name in row { writer.value(name.string) } } }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    static func records(in mark: String?) -> Set<RecordID> {
        guard let mark, case .array(let rows)? = try? JSONReader.value(of: mark) else { return [] }
        return Set(
            rows.compactMap { row in
                guard case .array(let values) = row else { return nil }
                let names = values.compactMap { if case .string(let text) = $0 { Name(text) } else { nil } }
                guard names.count == 3 else { return nil }
                return RecordID(
                    recordName: names[2],
                    zoneID: ZoneID(zoneName: names[0], ownerRecordName: names[1] == "" ? nil : names[1]))
            })
    }
}

extension CloudKitFailure {
    /// True if a file is unavailable, but the pull can continue without it.
    fileprivate var isOfFile: Bool {
        switch kind {
        case .closed, .cancelled: false
        default: true
        }
    }

    /// True if the server may deliver the file later.
    fileprivate var isForNow: Bool {
        switch kind {
        case .unreachable, .connectionLost, .throttled: true
        case .assetRefused(let status): status >= 500 || status == 421
        default: false
        }
    }

    /// True if the file does not exist at its address, so that another request would not help.
    fileprivate var isWithoutFile: Bool {
        switch kind {
        case .refused, .invalidRequest: true
        case .assetRefused: !isForNow
        default: false
        }
    }
}

/// The bytes of a file in the asset store, read in parts on demand.
struct StoredFile: AsyncSequence, Sendable {
    private static let partLength = 256 << 10

    let file: AssetFile

    struct AsyncIterator: AsyncIteratorProtocol {
        let file: AssetFile
        var offset: Int64 = 0

        mutating func next() async throws -> ByteBuffer? {
            let part = try await NonBlockingFileIO(threadPool: .singleton).read(
                fileHandle: file.handle, fromOffset: offset, byteCount: StoredFile.partLength,
                allocator: ByteBufferAllocator())
            offset += Int64(part.readableBytes)
            return part.readableBytes == 0 ? nil : part
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file) }
}
