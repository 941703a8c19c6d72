internal import RecordStore
internal import Records
internal import RequestLog

// MARK: - Zones of a database

/// `changes/database`: returns the zones that changed since a token (Apple's reference page "Fetching Database
/// Changes").
struct DatabaseChanges: Endpoint {
    let isBrief = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let request = DatabaseChangesRequest(
            since: try call.body.token(), limit: try call.body.resultsLimit() ?? RequestObject.pageLimit)
        let page = try await call.database().databaseChanges(request, noting: call.note)
        writer.object { $0.members(of: page, tokenName: "syncToken") }
    }
}

/// `zones/changes`: an older name of `changes/database`. Its tokens are called `metaSyncToken`, and it ignores a
/// `syncToken`. Without a token it lists deleted zones as well (Apple's reference page "Fetching Zone Changes").
struct ZonesChanges: Endpoint {
    let isBrief = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let request = DatabaseChangesRequest(
            since: try call.body.token("metaSyncToken"), includesGoneZones: true,
            limit: try call.body.resultsLimit() ?? RequestObject.pageLimit)
        if call.body.value("syncToken") != nil { call.note?.update { $0.ignoredSyncToken = true } }
        let page = try await call.database().databaseChanges(request, noting: call.note)
        writer.object { $0.members(of: page, tokenName: "metaSyncToken") }
    }
}

extension JSONWriter {
    fileprivate mutating func members(of page: DatabaseChangesPage, tokenName: Name) {
        member("zones", values: page.changes) { $0.value($1) }
        member(tokenName, page.syncToken.text)
        member("moreComing", page.moreComing)
    }

    private mutating func value(_ change: ZoneChange) {
        object { writer in
            writer.name("zoneID")
            writer.value(change.zoneID)
            // Clients see a purge as a deletion.
            if change.kind != .changed { writer.member("deleted", true) }
            if let token = change.syncToken { writer.member("syncToken", token.text) }
        }
    }
}

// MARK: - Records of zones

/// `changes/zone`: returns the changes to the records of custom zones, each since its own token. An
/// error in one zone does not affect the others (Apple's reference page "Fetching Record Zone Changes").
struct ZoneChanges: Endpoint {
    let isBrief = true

    /// The maximum size in bytes of the fields in one answer, over all zones. After that, each remaining zone gets one
    /// record and continues later.
    private static let answerLimit = 16 << 20

    fileprivate struct Pull {
        var request: ZoneChangesRequest
        let numbersAsStrings: Bool
    }

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let pulls = try Self.pulls(in: call.body)
        let database = try await call.database()
        var bytesLeft = Self.answerLimit
        var pages: [Result<ZoneChangesPage, RecordError>] = []
        for var pull in pulls {
            pull.request.limit.bytes = min(pull.request.limit.bytes, max(bytesLeft, 0))
            do {
                let page = try await database.zoneChanges(pull.request, noting: call.note)
                bytesLeft -= page.changes.reduce(0) { $0 + $1.bytes }
                try call.makeRoom(for: Self.answerLimit - bytesLeft)
                pages.append(.success(page))
            } catch let error as RecordError where error.code != .internalError {
                pages.append(.failure(error))
            }
        }
        // The records were already counted per pull.
        call.note?.items(pages, areRecords: false) { pulls[$0].request.zoneID.zoneName }
        // Failed pulls have no assets; their errors are written below.
        let downloadURL = try await call.assets.addresses(
            ifAny: pages.contains { (try? $0.get().changes.contains { $0.mayHoldAssets }) ?? false })
        try writer.object { writer in
            try writer.member("zones", values: zip(pulls, pages)) { writer, item in
                let (pull, page) = item
                try writer.value(page, of: pull, downloadURL: downloadURL, for: call.caller.userRecordName)
            }
        }
    }

    private static func pulls(in body: RequestObject) throws -> [Pull] {
        try body.items("zones").map { try pull($0, in: body) }
    }

    /// The pulls of a request.
    static func requests(in body: RequestObject) throws -> [ZoneChangesRequest] { try pulls(in: body).map(\.request) }

    /// The request for a zone. Its own options take precedence over those for all zones.
    private static func pull(_ zone: RequestObject, in body: RequestObject) throws -> Pull {
        Pull(
            request: ZoneChangesRequest(
                try zone.zoneIdentity(), since: try zone.token(),
                limit: PageLimit(records: try zone.resultsLimit() ?? body.resultsLimit() ?? RequestObject.pageLimit),
                desiredKeys: try zone.desiredKeys() ?? body.desiredKeys(),
                desiredRecordTypes: try zone.desiredRecordTypes() ?? body.desiredRecordTypes(),
                reverse: try zone.bool("reverse") ?? body.bool("reverse") ?? false),
            numbersAsStrings: try zone.numbersAsStrings() ?? body.numbersAsStrings() ?? false)
    }
}

extension JSONWriter {
    fileprivate mutating func value(
        _ page: Result<ZoneChangesPage, RecordError>, of pull: ZoneChanges.Pull, downloadURL: AssetAddress?,
        for viewer: Name
    ) throws {
        switch page {
        case .success(let page):
            try object { writer in
                writer.name("zoneID")
                writer.value(page.zoneID)
                try writer.members(
                    of: page, numbersAsStrings: pull.numbersAsStrings, downloadURL: downloadURL, for: viewer)
            }
        case .failure(let error): value(error, zoneID: pull.request.zoneID)
        }
    }
}

// MARK: - Records of one zone

/// `records/changes`: returns the changes to the records of one custom zone since a token. It is
/// older than `changes/zone`, and still in use (Apple's reference page "Fetching Record Changes").
struct RecordsChanges: Endpoint {
    let isBrief = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let request = try Self.request(call.body)
        let numbersAsStrings = try call.body.numbersAsStrings() ?? false
        let page = try await call.database().zoneChanges(request, noting: call.note)
        try call.makeRoom(for: page.changes.reduce(0) { $0 + $1.bytes })
        let downloadURL = try await call.assets.addresses(ifAny: page.changes.contains { $0.mayHoldAssets })
        try writer.object {
            try $0.members(
                of: page, numbersAsStrings: numbersAsStrings, downloadURL: downloadURL, for: call.caller.userRecordName)
        }
    }

    /// The pull of a request.
    static func request(_ body: RequestObject) throws -> ZoneChangesRequest {
        ZoneChangesRequest(
            try body.zoneID() ?? .default, since: try body.token(),
            limit: PageLimit(records: try body.resultsLimit() ?? RequestObject.pageLimit),
            desiredKeys: try body.desiredKeys(),
            desiredRecordTypes: try body.desiredRecordTypes(), reverse: try body.bool("reverse") ?? false)
    }
}
