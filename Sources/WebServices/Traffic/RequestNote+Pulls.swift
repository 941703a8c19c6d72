internal import RecordStore
internal import Records
internal import Traffic

// Logs the pulls of changes, with the tokens sent and returned.

extension RecordDatabase {
    /// Reads a page of a zone's changes and logs it as a pull.
    func zoneChanges(_ request: ZoneChangesRequest, noting note: RequestNote?) async throws -> ZoneChangesPage {
        do {
            let page = try await zoneChanges(request)
            note?.pulled(ServedRequest.Pull(request, page))
            await note?.checkDesiredKeys(request.desiredKeys, in: self)
            return page
        } catch let error as RecordError {
            note?.pulled(ServedRequest.Pull(request, error))
            throw error
        }
    }

    /// Reads a page of the database's changes and logs it as a pull.
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
            // Only changes of a zone are records; changes of a database are zones.
            guard let zoneID = pull.zoneID else { return }
            request.records += pull.changes
            if !request.zoneIDs.contains(zoneID) { request.zoneIDs.append(zoneID) }
        }
    }

    /// Logs the progress of a stream. All its pages count as one pull.
    func streamed(_ pages: ServedRequest.Pull) {
        update { request in
            request.pulls = [pages]
            request.records = pages.changes
        }
    }

    /// Logs an error after the stream began.
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
