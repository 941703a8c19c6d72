internal import JSON
internal import Records
internal import Text

/// The console's location: a database, the acting user, and a zone. The URL contains all of it.
struct Place: Sendable, Hashable {
    enum Zone: Sendable, Hashable {
        /// The URL names no zone: each page chooses the most useful one.
        case unspecified
        case all
        case one(ZoneID)
    }

    var address: DatabaseAddress
    /// The handle of the acting user; `nil` for the developer.
    var user: String?
    var zone: Zone

    var zoneID: ZoneID? {
        if case .one(let zoneID) = zone { zoneID } else { nil }
    }

    /// True if records of the database have a feed, as in all databases except the public one.
    var hasFeed: Bool { address.scope != .public }

    func with(_ change: (inout Place) -> Void) -> Place {
        var place = self
        change(&place)
        return place
    }

    func inZone(_ zoneID: ZoneID) -> Place {
        with { $0.zone = .one(zoneID) }
    }
}

// MARK: URLs

extension Place {
    /// `/c/iCloud.com.example.App/development/private`
    var path: String {
        "/c/\(PercentEncoding.encoded(address.container.description))/\(address.environment.rawValue)/\(address.scope.rawValue)"
    }

    /// The query parameters for the acting user and the zone.
    var parameters: [(name: String, value: String)] {
        userParameters + zoneParameters
    }

    var userParameters: [(name: String, value: String)] {
        user.map { [("user", $0)] } ?? []
    }

    var zoneParameters: [(name: String, value: String)] {
        switch zone {
        case .unspecified: []
        case .all: [("zone", "")]
        case .one(let zoneID): [("zone", zoneText(zoneID))]
        }
    }

    /// A link to one of the pages of this place.
    func link(_ page: String, _ parameters: [(name: String, value: String)] = []) -> String {
        FormFields.url("\(path)/\(page)", self.parameters + parameters)
    }

    /// The page of a record.
    func link(toRecord name: Name, in zoneID: ZoneID) -> String {
        inZone(zoneID).link("record", [("name", name.string)])
    }

    /// A zone in the format of the parameter `zone`. In a shared database, the owner and a slash precede the zone name.
    func zoneText(_ zoneID: ZoneID) -> String {
        if address.scope == .shared, let owner = zoneID.ownerRecordName { "\(owner)/\(zoneID.zoneName)" } else { zoneID.zoneName.string }
    }

    /// The zone of the parameters `zone` and `owner`.
    static func zone(_ text: String?, owner: String?, in scope: DatabaseScope) -> Zone {
        guard let text else { return .unspecified }
        if text.isEmpty { return .all }
        guard scope == .shared else { return .one(ZoneID(zoneName: Name(text))) }
        if let owner, !owner.isEmpty { return .one(ZoneID(zoneName: Name(text), ownerRecordName: Name(owner))) }
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty else { return .one(ZoneID(zoneName: Name(text))) }
        return .one(ZoneID(zoneName: Name(parts[1]), ownerRecordName: Name(parts[0])))
    }

    /// True if both identities name the same zone here. The owner matters only in the shared database, which has zones of several owners.
    func isSame(_ left: ZoneID, _ right: ZoneID) -> Bool {
        left.zoneName == right.zoneName && (address.scope != .shared || left.ownerRecordName == right.ownerRecordName)
    }
}
