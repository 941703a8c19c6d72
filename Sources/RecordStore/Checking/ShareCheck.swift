internal import JSON
public import Records

/// Problems of shares that the server accepts: nobody came, or somebody was invited who can't come.
public enum ShareCheck {
    /// Returns `true` if an invitation names a user who exists.
    public typealias UserLookup = @Sendable (LookupInfo) async throws -> Bool

    /// The age in milliseconds from which a share without guests is told of: a day.
    static let patience: Int64 = 86_400_000

    /// - Parameters:
    ///   - record: a record that holds a share. Others have no findings.
    ///   - isKnown: checks the addresses of invitations; `nil` skips them.
    public static func findings(in record: StoredRecord, at now: Timestamp, isKnown: UserLookup?) async throws -> [RecordFinding] {
        guard let share = record.sharing?.share else { return [] }
        func finding(_ kind: RecordFinding.Kind, _ field: Name, _ explanation: String) -> RecordFinding {
            RecordFinding(kind: kind, recordID: record.recordID, recordType: record.recordType, fieldName: field, explanation: explanation)
        }
        let invited = share.participants.filter { $0.status == .invited }
        var findings: [RecordFinding] = []
        let age = now.milliseconds.subtractingSaturated(record.created.timestamp.milliseconds)
        if share.guests.isEmpty, age >= patience {
            let days = age / patience
            let reason =
                if !invited.isEmpty { "\(invited.count) invited, nobody accepted" } else if share.publicPermission != .none {
                    "Everybody with the link may join, nobody did"
                } else { "Nobody is invited, and the link admits nobody" }
            findings.append(finding(.unacceptedShare, "participants", "\(reason). The share was made \(days == 1 ? "a day" : "\(days) days") ago"))
        }
        guard let isKnown else { return findings }
        for participant in invited {
            var address = participant.lookupInfo
            address.userRecordName = address.userRecordName ?? participant.userRecordName
            if try await isKnown(address) { continue }
            let name = address.words
            findings.append(
                finding(
                    .unknownAddress, "participants",
                    "The invitation of '\(name)' leads to nobody: no user of this server has this address. Add the user, or correct the address"))
        }
        return findings
    }
}

extension LookupInfo {
    /// The address in words.
    public var words: String { emailAddress ?? phoneNumber ?? userRecordName?.string ?? "an unknown address" }
}

/// The hierarchies of a zone, as its check sees them.
struct ZoneHierarchies {
    private static let pageSize = 200
    /// Maximum number of records that are looked at for the types below the roots.
    private static let treeLimit = 20_000

    /// The hierarchies of shares that have not ended.
    private var living: Set<Int64> = []
    /// The types of the records below roots.
    private var types: Set<Name> = []

    /// - Returns: `nil` if the zone shares no hierarchies.
    init?(of zoneID: ZoneID, in database: any RecordDatabase) async throws {
        guard database.can(.listShares) else { return nil }
        var last: Int64?
        repeat {
            let page = try await database.shares(in: zoneID, after: last, limit: Self.pageSize)
            living.formUnion(page.filter { $0.rootName != nil }.map(\.hierarchy))
            last = page.count == Self.pageSize ? page.last?.hierarchy : nil
        } while last != nil
        if living.isEmpty { return nil }
        for node in try await database.tree(of: zoneID, limit: Self.treeLimit).nodes where node.parent != nil && node.hierarchy.map(living.contains) ?? false {
            types.insert(node.recordType)
        }
    }

    /// True if a record and its parent are in hierarchies of different shares: the record is the root of one.
    func isNested(_ record: StoredRecord, below parent: Int64?) -> Bool {
        guard record.sharing?.shareName != nil, let own = record.sharing?.hierarchy, let parent else { return false }
        return own != parent && living.contains(own) && living.contains(parent)
    }

    /// The finding for a record beside the hierarchies that looks as if it belonged below one of them.
    func finding(for record: StoredRecord) -> RecordFinding? {
        guard record.parent == nil, types.contains(record.recordType), !(record.sharing?.hierarchy.map(living.contains) ?? false) else { return nil }
        return RecordFinding(
            kind: .besideHierarchies, recordID: record.recordID, recordType: record.recordType, fieldName: RecordRules.parentField,
            explanation: "It has no parent, so that no guest sees it. Other records of the type \(record.recordType) are shared, below a root. "
                + "Save it with a parent if guests should see it")
    }
}
