internal import JSON
internal import RecordStore
internal import Records

/// `changes/zone`: returns the changes to the records of custom zones, each since its own token. An
/// error in one zone does not affect the others (Apple's reference page "Fetching Record Zone Changes").
struct ZoneChanges: Endpoint {
    /// The maximum size in bytes of the fields in one answer, over all zones. After that, each remaining zone gets one record and continues later.
    private static let answerLimit = 16 << 20

    fileprivate struct Pull {
        var request: ZoneChangesRequest
        let numbersAsStrings: Bool
    }

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let pulls = try call.body.items("zones").map { try Self.pull($0, in: call.body) }
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
        let downloadURL = try await call.assets.addresses(in: pages.lazy.compactMap { try? $0.get() }.flatMap { $0.changes.lazy.compactMap(\.record) })
        try writer.object { writer in
            writer.name("zones")
            try writer.array { writer in
                for (pull, page) in zip(pulls, pages) { try writer.value(page, of: pull, downloadURL: downloadURL, for: call.caller.userRecordName) }
            }
        }
    }

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
        _ page: Result<ZoneChangesPage, RecordError>, of pull: ZoneChanges.Pull, downloadURL: AssetAddress?, for viewer: Name
    ) throws {
        switch page {
        case .success(let page):
            try object { writer in
                writer.name("zoneID")
                writer.value(page.zoneID)
                try writer.members(of: page, numbersAsStrings: pull.numbersAsStrings, downloadURL: downloadURL, for: viewer)
            }
        case .failure(let error): value(error, zoneID: pull.request.zoneID)
        }
    }
}
