public import JSON
public import Records

/// The outcome of one operation.
public enum ModifiedRecord: Sendable, Hashable {
    /// The record after the save, with the fields that were asked for.
    case saved(ReceivedRecord)
    /// The record is gone.
    case deleted(RecordID)
}

/// A page of a query's records.
public struct RecordsPage: Sendable {
    /// The records in order. A record that could not be read is an error with its name.
    public var records: [Result<ReceivedRecord, ServerError>]
    /// The way to the next page; `nil` after the last one. A page may have fewer records than the limit, or none, and yet not be the last.
    public var continuationMarker: String?
}

extension DatabaseClient {
    /// The place of a query.
    public enum QueryArea: Sendable, Hashable {
        /// One zone. The shared database has no other queries.
        case zone(ZoneID)
        /// All zones of the database (`zoneWide`).
        case allZones
    }

    /// The reaction to the lost answer of a save.
    public enum LostAnswer: Sendable, Hashable {
        /// Fail with ``CloudKitFailure/Kind/answerLost(_:)``.
        case report
        /// Send the request again, if every operation has the same effect the second time: `forceUpdate`, `forceReplace` and `forceDelete` of a
        /// record whose name is given. A change that another client made in between is overwritten. Otherwise fail, as with ``report``.
        case repeatIfHarmless
    }

    /// Gets one page of the records that match a query.
    ///
    /// Name system fields as the schema does, such as `___modTime`. CloudKit refuses what has no index, with its own words.
    /// - Parameters:
    ///   - limit: the number of records, at most 200; `nil` for CloudKit's choice.
    ///   - desiredKeys: the fields to get; `nil` for all, empty for none.
    ///   - continuationMarker: of the page before, with the same query and area.
    public func query(
        _ query: Query, in area: QueryArea = .zone(.default), limit: Int? = nil, desiredKeys: Set<Name>? = nil, after continuationMarker: String? = nil
    ) async throws -> RecordsPage {
        let call = try ServiceCall("records/query", under: root) { (writer) throws(CloudKitFailure) in
            try writer.member(query)
            switch area {
            case .zone(let zoneID): writer.member(zoneID: zoneID)
            case .allZones: writer.member("zoneWide", true)
            }
            writer.member(resultsLimit: limit)
            writer.member("desiredKeys", desiredKeys)
            if let continuationMarker { writer.member("continuationMarker", continuationMarker) }
        }
        let zoneID = if case .zone(let zoneID) = area { zoneID } else { ZoneID.default }
        return try await send(call) { answer in
            let records = try answer.objects("records").map { try $0.result { try ReceivedRecord($0, in: zoneID) } }
            return RecordsPage(records: records, continuationMarker: answer.string("continuationMarker").flatMap { $0.isEmpty ? nil : $0 })
        }
    }

    /// All pages of a query, each asked for when it is needed.
    public func queryPages(
        _ query: Query, in area: QueryArea = .zone(.default), limit: Int? = nil, desiredKeys: Set<Name>? = nil
    ) -> Pages<RecordsPage> {
        Pages(of: "records/query", after: nil, container.pacing) { marker in
            let page = try await self.query(query, in: area, limit: limit, desiredKeys: desiredKeys, after: marker)
            return (page, page.records.isEmpty, page.continuationMarker)
        }
    }

    /// Looks records of one zone up by name, any number of them. Lookups see every save at once, unlike queries.
    /// - Parameter desiredKeys: the fields to get; `nil` for all, empty for none.
    /// - Returns: a record or an error per name, in their order. A missing record is NOT_FOUND.
    public func lookup(
        _ recordNames: [Name], in zoneID: ZoneID = .default, desiredKeys: Set<Name>? = nil
    ) async throws -> [Result<ReceivedRecord, ServerError>] {
        try await inParts(recordNames) { part in
            let call = try ServiceCall("records/lookup", under: root, items: "records") { (writer) throws(CloudKitFailure) in
                try writer.member("records", part) { writer, recordName in writer.member("recordName", recordName) }
                writer.member(zoneID: zoneID)
                writer.member("desiredKeys", desiredKeys)
            }
            return try await send(call) { answer in
                try answer.objects("records", count: part.count).map { try $0.result { try ReceivedRecord($0, in: zoneID) } }
            }
        }
    }

    /// Saves and deletes records of one zone. More than 200 operations are sent in parts, one after the other.
    /// - Parameters:
    ///   - zoneID: the zone of all operations.
    ///   - atomic: true for all or nothing. CloudKit has this in custom zones only, and only within one request.
    ///   - desiredKeys: the fields to get back; `nil` for all, empty for none.
    ///   - lostAnswer: the reaction to a connection that breaks before the answer is there.
    /// - Returns: an outcome or an error per operation, in their order.
    /// - Throws: ``CloudKitFailure``. If several parts were needed it says which one failed, and has the answers of those before.
    public func modify(
        _ operations: [RecordOperation], in zoneID: ZoneID = .default, atomic: Bool, desiredKeys: Set<Name>? = nil,
        ifAnswerIsLost lostAnswer: LostAnswer = .report
    ) async throws -> [Result<ModifiedRecord, ServerError>] {
        let action = "records/modify"
        func invalid(_ reason: String) -> CloudKitFailure { CloudKitFailure(.invalidRequest(reason), action: action) }
        if atomic, operations.count > Self.itemLimit {
            throw invalid("\(operations.count) operations can't be one atomic request: \(Self.itemLimit) is CloudKit's limit")
        }
        for operation in operations {
            if let other = operation.zoneID, other != zoneID {
                throw invalid("An operation is about the zone '\(other.zoneName)', the request about '\(zoneID.zoneName)'")
            }
            if operation.provenance != nil { throw invalid("CloudKit itself sets who saved a record, and when") }
        }
        return try await inParts(operations, keeping: \.answered) { part in
            let isHarmless = lostAnswer == .repeatIfHarmless && part.allSatisfy(\.hasSameEffectTwice)
            let effect: ServiceCall.Effect = isHarmless ? .savesRepeatably : .saves
            let call = try ServiceCall(action, under: root, effect, items: "records") { (writer) throws(CloudKitFailure) in
                try writer.member("operations", part) { (writer, operation) throws(CloudKitFailure) in try writer.members(of: operation) }
                writer.member(zoneID: zoneID)
                writer.member("atomic", atomic)
                writer.member("desiredKeys", desiredKeys)
            }
            return try await send(call) { answer in
                try answer.objects("records", count: part.count).map { object in
                    try object.result { object in
                        if object.bool("deleted") == true { return .deleted(try ReceivedDeletion(object, in: zoneID).recordID) }
                        return .saved(try ReceivedRecord(object, in: zoneID))
                    }
                }
            }
        }
    }
}

extension RecordOperation {
    /// True if sending the operation again changes nothing more, unless another client saved the record in between.
    fileprivate var hasSameEffectTwice: Bool {
        recordName != nil && (kind == .forceUpdate || kind == .forceReplace || kind == .forceDelete)
    }
}
