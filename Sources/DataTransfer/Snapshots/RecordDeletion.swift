internal import JSON
internal import RecordStore
internal import Records

/// Deletes records in batches. A record that others need is deleted after them.
struct RecordDeletion {
    private static let batchSize = 200
    /// Retries of a batch while the database is busy.
    private static let retryLimit = 8

    private let database: any RecordDatabase
    private var batch: [RecordOperation] = []
    private var refused: [(operation: RecordOperation, error: RecordError)] = []
    private(set) var deleted = 0

    init(_ database: any RecordDatabase) {
        self.database = database
    }

    /// The first reasons why records could not be deleted.
    var refusals: [String] { refused.prefix(Importer.problemLimit).map { "\($0.operation.recordName?.string ?? "") was not deleted: \($0.error.reason)" } }

    mutating func add(_ line: ExportedLine) async throws {
        if let first = batch.first, first.zoneID != line.zoneID || batch.count == Self.batchSize { try await send() }
        batch.append(RecordOperation(.forceDelete, recordName: line.recordName, zoneID: line.zoneID))
    }

    /// Deletes the rest. Tries refused records again as long as that deletes some of them.
    mutating func finish() async throws {
        try await send()
        var left = Int.max
        while !refused.isEmpty, refused.count < left {
            left = refused.count
            let again = refused.map(\.operation)
            refused = []
            for operation in again {
                if let first = batch.first, first.zoneID != operation.zoneID || batch.count == Self.batchSize { try await send() }
                batch.append(operation)
            }
            try await send()
        }
    }

    private mutating func send() async throws {
        guard let zoneID = batch.first?.zoneID else { return }
        let request = ModifyRequest(batch, zoneID: zoneID, atomic: false)
        for (operation, outcome) in zip(batch, try await outcomes(of: request)) {
            switch outcome {
            case .success: deleted += 1
            case .failure(let error) where error.code == .notFound: continue
            case .failure(let error): refused.append((operation, error))
            }
        }
        batch = []
    }

    private func outcomes(of request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        var tries = 0
        while true {
            do {
                return try await database.modify(request)
            } catch let error as RecordError where error.code == .tryAgainLater && tries < Self.retryLimit {
                tries += 1
                try await Task.sleep(for: .milliseconds(50 << tries))
            }
        }
    }
}
