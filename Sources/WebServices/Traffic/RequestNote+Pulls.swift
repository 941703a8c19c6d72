internal import RecordStore
internal import Records
internal import Traffic

// Pulls of changes, and which tokens were sent and given.

extension RecordDatabase {
    /// A page of a zone's changes, noted as a pull.
    func zoneChanges(_ request: ZoneChangesRequest, noting note: RequestNote?) async throws -> ZoneChangesPage {
        do {
            let page = try await zoneChanges(request)
            note?.pulled(ServedRequest.Pull(request, page))
            return page
        } catch let error as RecordError {
            note?.pulled(ServedRequest.Pull(request, error))
            throw error
        }
    }

    /// A page of the database's changes, noted as a pull.
    func databaseChanges(_ request: DatabaseChangesRequest, noting note: RequestNote?) async throws -> DatabaseChangesPage {
        var pull = ServedRequest.Pull(zoneID: nil, sent: request.since, given: nil, moreComing: false, changes: 0)
        do {
            let page = try await databaseChanges(request)
            (pull.given, pull.moreComing, pull.changes) = (page.syncToken, page.moreComing, page.changes.count)
            note?.pulled(pull)
            return page
        } catch let error as RecordError {
            pull.error = ServedRequest.ItemError(error)
            note?.pulled(pull)
            throw error
        }
    }
}

extension RequestNote {
    func pulled(_ pull: ServedRequest.Pull) {
        update { request in
            request.pulls.append(pull)
            // Changes of a database are zones.
            guard let zoneID = pull.zoneID else { return }
            request.records += pull.changes
            if !request.zoneIDs.contains(zoneID) { request.zoneIDs.append(zoneID) }
        }
    }

    /// How far a feed has come that is sent as one stream: all its pages are one pull.
    func streamed(_ pages: ServedRequest.Pull) {
        update { request in
            request.pulls = [pages]
            request.records = pages.changes
        }
    }

    /// A stream went wrong after it had begun.
    func streamFailed(_ error: RecordError) {
        let error = ServedRequest.ItemError(error)
        update { request in
            request.itemErrors.append(error)
            if !request.pulls.isEmpty { request.pulls[request.pulls.count - 1].moreComing = true }
        }
    }
}

extension ServedRequest.Pull {
    init(_ request: ZoneChangesRequest, _ page: ZoneChangesPage) {
        self.init(
            zoneID: request.zoneID, sent: request.since, given: page.syncToken, moreComing: page.moreComing, changes: page.changes.count,
            recordTypes: request.desiredRecordTypes, keys: request.desiredKeys, reverse: request.reverse)
    }

    init(_ request: ZoneChangesRequest, _ error: RecordError) {
        self.init(
            zoneID: request.zoneID, sent: request.since, given: nil, moreComing: false, changes: 0, recordTypes: request.desiredRecordTypes,
            keys: request.desiredKeys, reverse: request.reverse, error: ServedRequest.ItemError(error, name: request.zoneID.zoneName))
    }
}
