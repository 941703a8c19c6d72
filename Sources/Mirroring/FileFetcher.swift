internal import AssetStore
internal import CloudKitClient
internal import JSON
internal import NIOCore
internal import NIOPosix
internal import Records
internal import RecordStore

/// Brings the files of assets into the mirror's asset store, and reads them for uploads.
///
/// The `fileChecksum` of an asset is the origin's until the file is there, and the file's own from then on.
struct FileFetcher: Sendable {
    private let store: AssetStore
    private let ledger: any AssetLedger
    private let isFetching: Bool
    private let meter: MirrorMeter

    /// - Parameter isFetching: false to use only files that the mirror has already.
    init(_ store: AssetStore, _ ledger: any AssetLedger, isFetching: Bool, _ meter: MirrorMeter) {
        self.store = store
        self.ledger = ledger
        self.isFetching = isFetching
        self.meter = meter
    }

    /// The same, fetching files that the mirror lacks.
    var fetchingAll: FileFetcher { FileFetcher(store, ledger, isFetching: true, meter) }

    /// The changes with the files of their assets.
    /// - Parameters:
    ///   - received: the records by name, with the addresses of their files.
    ///   - isAnswer: true if the versions are answers to edits, whose files came from here.
    ///   - problems: gets the files that the origin does not give, or that are too large. Their records come without them.
    func fetching(
        _ changes: [MirrorBatch.Change], _ received: [Name: ReceivedRecord], in replica: Replica, isAnswer: Bool = false, problems: inout [MirrorProblem]
    ) async throws -> [MirrorBatch.Change] {
        var changes = changes
        let withAssets = try changes.indices.filter { try changes[$0].version.record?.fields.decoded().contains { !$0.value.assets.isEmpty } ?? false }
        if withAssets.isEmpty { return changes }
        let known = try await replica.local.fetch(withAssets.map { changes[$0].version.recordID }, desiredKeys: nil)
        for (index, previous) in zip(withAssets, known) {
            guard case .saved(var record) = changes[index].version else { continue }
            let before = Dictionary(
                (try? previous.get().fields.decoded().map { ($0.name, $0.value.assets) }) ?? [], uniquingKeysWith: { first, _ in first })
            var fields = try record.fields.decoded()
            for number in fields.indices {
                let name = fields[number].name
                var files: [String: String] = [:]
                for (place, asset) in fields[number].value.assets.enumerated() {
                    let candidates = before[name] ?? []
                    var same = candidates.first { $0.originChecksum == asset.fileChecksum }
                    if same == nil, isAnswer, candidates.indices.contains(place), candidates[place].originChecksum == nil, candidates[place].size == asset.size {
                        same = candidates[place]
                    }
                    let source = received[record.recordID.recordName]?.fields[name]?.assets.first { $0.asset.fileChecksum == asset.fileChecksum }
                    files[asset.fileChecksum] = try await file(of: asset, like: same, source, of: record.recordID, name, in: replica, &problems)
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
        of asset: Asset, like same: Asset?, _ source: ReceivedAsset?, of recordID: RecordID, _ field: Name, in replica: Replica,
        _ problems: inout [MirrorProblem]
    ) async throws -> String? {
        // An origin that is another Skylight has the same checksums.
        for candidate in [same?.fileChecksum, asset.fileChecksum] {
            if let candidate, let checksum = FileChecksum(candidate), try await ledger.entry(of: checksum) != nil { return candidate }
        }
        guard isFetching, let source else { return nil }
        guard source.asset.size <= store.sizeLimit else {
            problems.append(.file(field, of: recordID, reason: "it has \(source.asset.size) bytes, and the limit here is \(store.sizeLimit)"))
            return nil
        }
        do {
            return try await fetch(source, in: replica)
        } catch let failure as CloudKitFailure where failure.isWithoutFile {
            // The address may have expired while other files were fetched.
            let zoneID = replica.scope == .public ? ZoneID.default : recordID.zoneID
            let again = try await replica.remote.lookup([recordID.recordName], in: zoneID, desiredKeys: [field])[0]
            if case .failure(let error) = again, error.isTemporary { throw error }
            // Otherwise the record has changed meanwhile, and comes again.
            guard let renewed = try? again.get().fields[field]?.assets.first(where: { $0.asset.fileChecksum == asset.fileChecksum }) else { return nil }
            do {
                return try await fetch(renewed, in: replica)
            } catch let failure as CloudKitFailure where failure.isWithoutFile {
                problems.append(.file(field, of: recordID, reason: "\(failure)"))
                return nil
            }
        }
    }

    private func fetch(_ source: ReceivedAsset, in replica: Replica) async throws -> String {
        let ticket = ledger.tickets.seal(UploadTicket(storingUntil: Timestamp(milliseconds: Timestamp.now().milliseconds + AssetTickets.uploadLifetime)))
        let stream = try replica.remoteFiles.download(source)
        let stored = try await store.receive(stream, ticket: ticket, fileName: nil, declaredSize: source.asset.size)
        meter.change { progress in
            progress.files += 1
            progress.fileBytes += source.asset.size
        }
        return stored.fileChecksum
    }

    /// Opens a file of the mirror.
    /// - Throws: `RecordError` if it is not there.
    func open(_ asset: Asset) async throws -> StoredFile {
        guard let checksum = FileChecksum(asset.fileChecksum) else {
            throw RecordError(.notFound, "The mirror does not have the file")
        }
        let ticket = DownloadTicket(checksum: checksum, size: asset.size, expires: Timestamp(milliseconds: .max))
        return StoredFile(file: try await store.open(ticket, coding: .identity))
    }
}

extension CloudKitFailure {
    /// True if the file is not at its address, so that asking there again is of no use.
    fileprivate var isWithoutFile: Bool {
        switch kind {
        case .refused, .invalidRequest: true
        case .assetRefused(let status): status < 500 && status != 421
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
                fileHandle: file.handle, fromOffset: offset, byteCount: StoredFile.partLength, allocator: ByteBufferAllocator())
            offset += Int64(part.readableBytes)
            return part.readableBytes == 0 ? nil : part
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file) }
}
