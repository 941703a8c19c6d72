internal import CloudKitClient
internal import HTTPServing
internal import RecordStore
internal import Records
internal import RequestLog

// Logs what iCloud answered to a request that was passed on. The services log the same of their own answers, from values
// that they have anyway. Here it is read from the bodies, so what these do not say is not known.

extension RequestRecorder {
    /// Logs a whole answer.
    /// - Parameters:
    ///   - sent: the body of the request.
    ///   - answer: the body of the answer, both without content encoding.
    ///   - action: the service; `nil` if the path names none.
    func passedOn(_ sent: [UInt8], _ answer: [UInt8], of action: String?) async {
        guard let object = try? await RequestObject.reading(answer) else { return answered(answer) }
        if let error = RecordError(statedIn: object) {
            failed(error, Self.withoutTicket(object) ?? answer)
        } else {
            answered(answer)
            // A body that is no request of the protocol, or that only iCloud understands, tells nothing.
            if let action, let sent = try? await RequestObject.reading(sent) { try? read(sent, object, of: action) }
        }
    }

    /// The body without the ticket in the address of the sign-in page; `nil` if there is none.
    private static func withoutTicket(_ answer: RequestObject) -> [UInt8]? {
        var members = answer.members
        for name in ["redirectURL", "redirectUrl"] as [Name] {
            guard case .string(let url)? = members[name] else { continue }
            members[name] = .string(url.prefix { $0 != "?" } + "?" + LoggedTarget.hidden)
        }
        return members == answer.members ? nil : JSONWriter.bytes(of: .object(members))
    }

    /// Logs the items of a request and its answer.
    private func read(_ sent: RequestObject, _ answer: RequestObject, of action: String) throws {
        switch action {
        case "records/query":
            let request = try RecordsQuery.request(sent, limit: PageLimit(records: .max))
            update { $0.note(request) }
            queried(request, limit: try sent.resultsLimit())
            update { $0.hasNextPage = answer.value("continuationMarker") != nil }
            _ = try records(answer)
        case "records/lookup":
            let zoneID = try sent.zoneID() ?? .default
            let asked = try sent.items("records")
            about(try asked.map { try $0.zoneID() ?? zoneID })
            update { $0.isSingleLookup = asked.count == 1 }
            _ = try records(answer)
        case "records/modify":
            let zoneID = try sent.zoneID() ?? .default
            let operations = try RecordsModify.operations(in: sent)
            about(operations.map { $0.zoneID ?? zoneID })
            // What was saved is not read.
            let outcomes = try zip(operations, records(answer)).map { operation, result in
                result.map {
                    ModifyOutcome.deleted(
                        RecordID(recordName: operation.recordName ?? "", zoneID: operation.zoneID ?? zoneID))
                }
            }
            saved(operations, outcomes, in: zoneID)
        case "records/changes":
            pulled(try Self.pull(RecordsChanges.request(sent), answer))
        case "changes/zone":
            let zones = try answer.objects("zones") ?? []
            for request in try ZoneChanges.requests(in: sent) {
                let name = request.zoneID.zoneName
                guard let zone = try zones.first(where: { try $0.zoneIdentity().zoneName == name }) else { continue }
                if let error = RecordError(statedIn: zone) {
                    pulled(ServedRequest.Pull(request, error))
                    update { $0.itemErrors.append(ServedRequest.ItemError(error, name: name)) }
                } else {
                    pulled(try Self.pull(request, zone))
                }
            }
        case "changes/database", "zones/changes":
            let tokenName: Name = action == "zones/changes" ? "metaSyncToken" : "syncToken"
            if tokenName != "syncToken", sent.value("syncToken") != nil { update { $0.ignoredSyncToken = true } }
            pulled(
                ServedRequest.Pull(
                    zoneID: nil, sent: try sent.token(tokenName), given: try answer.token(tokenName),
                    moreComing: try answer.bool("moreComing") ?? false,
                    changes: try answer.objects("zones")?.count ?? 0))
        case "zones/lookup", "zones/modify":
            let asked = try sent.objects("zones") ?? sent.objects("operations")?.compactMap { try $0.object("zone") }
            about(try (asked ?? []).map { try $0.zoneIdentity() })
            let zones = try answer.objects("zones") ?? []
            items(Self.results(zones), areRecords: false) { try? zones[$0].zoneIdentity().zoneName }
        default: break
        }
    }

    /// Logs the records of an answer, and returns their results.
    private func records(_ answer: RequestObject) throws -> [Result<Void, RecordError>] {
        let records = try answer.objects("records") ?? []
        let results = Self.results(records)
        items(results) { try? records[$0].name("recordName") }
        return results
    }

    private static func results(_ items: [RequestObject]) -> [Result<Void, RecordError>] {
        items.map { item in RecordError(statedIn: item).map { .failure($0) } ?? .success(()) }
    }

    private static func pull(_ request: ZoneChangesRequest, _ answer: RequestObject) throws -> ServedRequest.Pull {
        ServedRequest.Pull(
            zoneID: request.zoneID, sent: request.since, given: try answer.token(),
            moreComing: try answer.bool("moreComing") ?? false, changes: try answer.objects("records")?.count ?? 0,
            recordTypes: request.desiredRecordTypes, keys: request.desiredKeys, reverse: request.reverse)
    }
}

extension RecordError {
    /// The error in an answer of iCloud, or in an item of one; `nil` if it is none. A code that no document has is part
    /// of the reason.
    fileprivate init?(statedIn object: RequestObject) {
        guard let error = ServerError(object.members) else { return nil }
        self.init(
            error.code ?? .internalError, error.code == nil ? error.description : error.reason,
            retryAfter: error.retryAfter.map { Int(clamping: $0.components.seconds) })
    }
}
