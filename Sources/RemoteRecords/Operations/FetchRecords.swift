internal import CloudKitClient
public import Foundation
public import JSON
public import Records

/// Fetches records by their IDs (CKFetchRecordsOperation). It sees every save at once, unlike queries.
public struct FetchRecords: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// The part of the record's files that was downloaded, from 0 to 1; only with a folder for files.
        case progress(RecordID, Double)
        /// A record that does not exist is `unknownItem`.
        case fetched(RecordID, Result<Record, OperationError>)
    }

    /// The records to fetch, of any zones.
    public var recordIDs: [RecordID]
    /// `nil` for all keys, empty for none.
    public var desiredKeys: Set<Name>?
    /// The folder for the files of the records. `nil` leaves them on the server; fields then have their addresses.
    public var assetFolder: URL?

    /// A fetch of records by their IDs.
    public init(_ recordIDs: [RecordID], desiredKeys: Set<Name>? = nil, assetFolder: URL? = nil) {
        self.recordIDs = recordIDs
        self.desiredKeys = desiredKeys
        self.assetFolder = assetFolder
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) {
        var errors: [OperationError.Item: OperationError] = [:]
        for (zoneID, names) in recordIDs.namesByZone {
            for start in stride(from: 0, to: names.count, by: DatabaseClient.itemLimit) {
                let part = Array(names[start..<min(start + DatabaseClient.itemLimit, names.count)])
                let answers = try await context.request { try await $0.lookup(part, in: zoneID, desiredKeys: desiredKeys) }
                // Files take their time, so that records with files are kept one by one.
                for some in assetFolder == nil ? [zip(part, answers).map { ($0, $1) }] : zip(part, answers).map({ [($0, $1)] }) {
                    var fetched: [(RecordID, Result<Record, OperationError>)] = []
                    for (name, answer) in some {
                        let recordID = RecordID(recordName: name, zoneID: zoneID)
                        let result = try await withFiles(context.record(answer), recordID, context, deliver)
                        if case .failure(let error) = result { errors[.record(recordID)] = error }
                        fetched.append((recordID, result))
                    }
                    await context.steps?.answered(fetched.map(\.0), fetched.compactMap { Self.json(of: .fetched($0, $1)) })
                    for (recordID, result) in fetched { await deliver(.fetched(recordID, result)) }
                }
            }
        }
        if !errors.isEmpty { throw .partialFailure(errors) }
    }

    /// The record with its files, if there is a folder for them.
    private func withFiles(
        _ result: Result<Record, OperationError>, _ recordID: RecordID, _ context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) -> Result<Record, OperationError> {
        guard let assetFolder, case .success(let record) = result else { return result }
        do throws(OperationError) {
            return .success(try await context.downloadingFiles(of: record, to: assetFolder) { await deliver(.progress(recordID, $0)) })
        } catch {
            if error.isOfNetwork || error.code == .operationCancelled { throw error }
            return .failure(error)
        }
    }
}

extension OperationContext {
    /// The record with all its files on this machine, or none of them. Files have names of their own.
    func downloadingFiles(
        of record: Record, to folder: URL, _ tell: @escaping @Sendable (Double) async -> Void
    ) async throws(OperationError) -> Record {
        var record = record
        // The server's numbers may be anything.
        let total = record.fields.values.flatMap(\.files).reduce(0 as Int64) { $0.addingReportingOverflow($1.asset?.size ?? 0).partialValue }
        var received: Int64 = 0
        var done: [URL] = []
        for (key, content) in record.fields.sorted(by: { $0.key < $1.key }) where !content.files.isEmpty {
            var files = content.files
            for (place, file) in files.enumerated() {
                guard let asset = file.asset else { continue }
                let url = folder.appending(path: "\(UUID().uuidString)")
                do throws(OperationError) {
                    try await withProgress(of: total, after: received, tell) {
                        (progress: @escaping @Sendable (Int64) -> Void) async throws(OperationError) -> Void in
                        try await download(file, to: url) { progress($0.bytes) }
                    }
                } catch {
                    await FileBytes.remove(done)
                    throw error
                }
                files[place].fileURL = url
                done.append(url)
                received = received.addingReportingOverflow(asset.size).partialValue
            }
            record = record.uploading(content.replacing(files), for: key)
        }
        await tell(1)
        return record
    }

    /// Downloads a file.
    func download(_ file: AssetFile, to url: URL, progress: @escaping @Sendable (TransferProgress) -> Void) async throws(OperationError) {
        guard let asset = file.asset else { throw OperationError(.assetNotAvailable, "The file was never uploaded") }
        let received = ReceivedAsset(asset: asset, downloadURL: file.downloadURL)
        try await transfer { _, database in try await FileBytes.write(try database.download(received, progress: progress), to: url) }
    }
}

extension [RecordID] {
    /// The names in each zone, zones and names in their order.
    var namesByZone: [(ZoneID, [Name])] {
        var zones: [(ZoneID, [Name])] = []
        var places: [ZoneID: Int] = [:]
        for recordID in self {
            if let place = places[recordID.zoneID] {
                zones[place].1.append(recordID.recordName)
            } else {
                places[recordID.zoneID] = zones.count
                zones.append((recordID.zoneID, [recordID.recordName]))
            }
        }
        return zones
    }
}

extension OperationContext {
    func local(_ zoneID: ZoneID) -> ZoneID { scope.local(zoneID) }
    func local(_ recordID: RecordID) -> RecordID { scope.local(recordID) }

    func local(_ zone: ReceivedZone) -> ReceivedZone {
        var zone = zone
        zone.zoneID = local(zone.zoneID)
        return zone
    }

    /// The record of an answer.
    func record(_ answer: Result<ReceivedRecord, ServerError>) -> Result<Record, OperationError> { scope.record(answer) }
}

extension DatabaseScope {
    /// A zone as the app names it. In the user's own database the server adds the user as the owner, which apps leave out.
    func local(_ zoneID: ZoneID) -> ZoneID {
        self == .shared ? zoneID : ZoneID(zoneName: zoneID.zoneName)
    }

    func local(_ recordID: RecordID) -> RecordID {
        RecordID(recordName: recordID.recordName, zoneID: local(recordID.zoneID))
    }

    /// References with their zones as the app names them; `nil` if nothing is to be changed.
    private func local(_ content: FieldContent) -> FieldContent? {
        func local(_ value: FieldValue) -> FieldValue {
            guard case .reference(var reference) = value else { return value }
            reference.zoneID = reference.zoneID.map { self.local($0) }
            return .reference(reference)
        }
        return switch content {
        case _ where self == .shared: nil
        case .value(.reference(let reference), let isEncrypted): .value(local(.reference(reference)), isEncrypted: isEncrypted)
        case .value(.list(let elements, .reference?), let isEncrypted): .value(.list(elements.map { local($0) }, of: .reference), isEncrypted: isEncrypted)
        default: nil
        }
    }

    /// The record of an answer.
    func record(_ answer: Result<ReceivedRecord, ServerError>) -> Result<Record, OperationError> {
        switch answer {
        case .success(var received):
            received.recordID = local(received.recordID)
            received.share = received.share.map { local($0) }
            guard var record = Record(received) else {
                return .failure(OperationError(.serverRejectedRequest, "The server does not tell the record's type"))
            }
            for (key, content) in record.fields { if let local = local(content) { record.restore(local, for: key) } }
            return .success(record)
        case .failure(let error): return .failure(OperationError(error))
        }
    }
}
