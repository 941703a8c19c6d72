internal import Accounts
internal import RecordStore
internal import Records

/// `records/resolve`: returns the shares that links open (Apple's reference page "Fetching Record Information").
struct RecordsResolve: Endpoint {
    let purpose = EndpointPurpose.ofUser

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        try await ShareLinks(call).answer(call, into: &writer) {
            try await $0.require(.shareRecords).resolve($1, by: $2)
        }
    }
}

/// `records/accept`: accepts shares for the user (Apple's reference page "Accepting Share Records").
struct RecordsAccept: Endpoint {
    let purpose = EndpointPurpose.ofUser

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        try await ShareLinks(call).answer(call, into: &writer) {
            try await $0.require(.shareRecords).accept($1, by: $2)
        }
    }
}

/// The links in a request, each given by its identifier.
private struct ShareLinks {
    private struct Item {
        let shortGUID: String
        var fetchesRoot = true
        var rootKeys: Set<Name>?
    }

    private let items: [Item]

    /// Reads the links. Clients send objects; some hand-written ones send plain strings.
    init(_ call: EndpointCall) throws {
        if case .array(let elements)? = call.body.value("shortGUIDs"),
            elements.allSatisfy({ if case .string = $0 { true } else { false } })
        {
            items = elements.compactMap { if case .string(let text) = $0 { Item(shortGUID: text) } else { nil } }
            guard items.count <= RequestObject.pageLimit else {
                throw RecordError.tooManyItems(in: "shortGUIDs", items.count, limit: RequestObject.pageLimit)
            }
            return
        }
        items = try call.body.items("shortGUIDs").map { object in
            Item(
                shortGUID: try object.required("value", "a string", object.string("value")),
                fetchesRoot: try object.bool("shouldFetchRootRecord") ?? true,
                rootKeys: try object.names("rootRecordDesiredKeys").map { Set($0) })
        }
    }

    func answer(
        _ call: EndpointCall, into writer: inout JSONWriter,
        from read: (any RecordDatabase, [String], LookupInfo) async throws -> [Result<ResolvedShare, RecordError>]
    ) async throws {
        let user = call.caller.userRecordName
        // Skylight stores no telephone numbers.
        let addresses = LookupInfo(
            emailAddress: call.accounts.user(recordName: user)?.emailAddress, userRecordName: user)
        let results = try await read(call.database(), items.map(\.shortGUID), addresses)
        call.note?.items(results, areRecords: false) { Name(items[$0].shortGUID) }
        let records = results.lazy.compactMap { try? $0.get() }.flatMap { [$0.share, $0.root].compactMap(\.self) }
        let downloadURL = try await call.assets.addresses(ifAny: records.contains { $0.fields.mayHoldAssets })
        try writer.object { writer in
            try writer.member("results", objects: zip(items, results)) { writer, pair in
                let (item, result) = pair
                writer.name("shortGUID")
                writer.object { writer in
                    writer.member("value", item.shortGUID)
                    writer.member("shouldFetchRootRecord", item.fetchesRoot)
                }
                switch result {
                case .failure(let error): writer.members(of: error)
                case .success(let resolved): try members(of: resolved, item, call, downloadURL, into: &writer)
                }
            }
        }
    }

    private func members(
        of resolved: ResolvedShare, _ item: Item, _ call: EndpointCall, _ downloadURL: AssetAddress?,
        into writer: inout JSONWriter
    ) throws {
        let share = resolved.share
        writer.member("containerIdentifier", call.path.container.description)
        writer.member("environment", call.path.environment.rawValue.uppercased())
        writer.member("databaseScope", resolved.isOwner ? "PRIVATE" : "SHARED")
        writer.name("zoneID")
        writer.value(share.recordID.zoneID)
        writer.name("share")
        try writer.value(share, downloadURL: downloadURL, for: call.caller.userRecordName)
        if let root = resolved.root {
            writer.member("rootRecordName", root.recordID.recordName)
            if item.fetchesRoot, resolved.participant != nil {
                writer.name("rootRecord")
                try writer.value(root.keeping(item.rootKeys), downloadURL: downloadURL)
            }
        }
        if let owner = share.sharing?.share?.owner?.userRecordName {
            writer.name("ownerIdentity")
            writer.object { $0.members(of: UserIdentity(of: owner, in: call.accounts)) }
        }
        let participant = resolved.participant
        writer.member("participantType", (participant?.role ?? .publicUser).rawValue)
        writer.member("participantStatus", (participant?.status ?? .invited).rawValue)
        let top = share.sharing?.share
        let permission = participant.flatMap { top?.permission(of: $0) } ?? top?.publicPermission ?? .none
        writer.member("participantPermission", permission.rawValue)
    }
}
