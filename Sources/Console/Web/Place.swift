internal import Accounts
package import Records

/// The console's location: a database, the acting user, and a zone. The URL contains all of it.
package struct Place: Sendable, Hashable {
    package enum Zone: Sendable, Hashable {
        /// The URL names no zone: each page chooses the most useful one.
        case unspecified
        case all
        case one(ZoneID)
    }

    package var address: DatabaseAddress
    /// The handle of the acting user; `nil` for the developer.
    package var user: String?
    package var zone: Zone
    /// The point of the earlier state that pages show, as the address names it; `nil` for now.
    package var asOf: String?

    package init(address: DatabaseAddress, user: String?, zone: Zone) {
        (self.address, self.user, self.zone) = (address, user, zone)
    }

    package var zoneID: ZoneID? {
        if case .one(let zoneID) = zone { zoneID } else { nil }
    }

    /// True if records of the database have a feed, as in all databases except the public one.
    package var hasFeed: Bool { address.scope != .public }

    package func with(_ change: (inout Place) -> Void) -> Place {
        var place = self
        change(&place)
        return place
    }

    package func inZone(_ zoneID: ZoneID) -> Place {
        with { $0.zone = .one(zoneID) }
    }

    /// All zones if the URL names none.
    package var inAllZonesUnlessNamed: Place {
        with { if $0.zone == .unspecified { $0.zone = .all } }
    }
}

// MARK: URLs

extension Place {
    /// `/c/iCloud.com.example.App/development/private`
    package var path: String {
        "/c/\(PercentEncoding.encoded(address.container.description))/\(address.environment.rawValue)/\(address.scope.rawValue)"
    }

    /// A return address within the console. Anything else is refused, to prevent redirects to other sites.
    package static func local(_ url: String?) -> String? {
        guard let url, url.hasPrefix("/c/"), url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
        else { return nil }
        return url
    }

    /// The query parameters for the acting user and the zone.
    package var parameters: [(name: String, value: String)] {
        userParameters + zoneParameters
    }

    package var userParameters: [(name: String, value: String)] {
        user.map { [("user", $0)] } ?? []
    }

    /// The query parameter for the point of an earlier state.
    package var pointParameters: [(name: String, value: String)] {
        asOf.map { [(EarlierState.parameter, $0)] } ?? []
    }

    /// True for the pages that show earlier states, and for the files of their answers. All others show the present
    /// one, and change it.
    static func showsEarlierStates(_ page: some StringProtocol) -> Bool {
        let name = page.prefix { $0 != "." }
        return name == "query" || name == "fetch" || name == "record"
    }

    package var zoneParameters: [(name: String, value: String)] {
        switch zone {
        case .unspecified: []
        case .all: [("zone", "")]
        case .one(let zoneID): [("zone", zoneText(zoneID))]
        }
    }

    /// A link to one of the pages of this place. Pages that show earlier states keep the point.
    package func link(_ page: String, _ parameters: [(name: String, value: String)] = []) -> String {
        FormFields.url(
            "\(path)/\(page)",
            self.parameters + (Self.showsEarlierStates(page) ? pointParameters : []) + parameters)
    }

    /// The page of a record.
    package func link(toRecord name: Name, in zoneID: ZoneID) -> String {
        inZone(zoneID).link("record", [("name", name.string)])
    }

    /// A zone in the format of the parameter `zone`. In a shared database, the owner and a slash precede the zone name.
    package func zoneText(_ zoneID: ZoneID) -> String {
        if address.scope == .shared, let owner = zoneID.ownerRecordName {
            "\(owner)/\(zoneID.zoneName)"
        } else {
            zoneID.zoneName.string
        }
    }

    /// The zone of the parameters `zone` and `owner`.
    package static func zone(_ text: String?, owner: String?, in scope: DatabaseScope) -> Zone {
        guard let text else { return .unspecified }
        if text.isEmpty { return .all }
        guard scope == .shared else { return .one(ZoneID(zoneName: Name(text))) }
        if let owner, !owner.isEmpty { return .one(ZoneID(zoneName: Name(text), ownerRecordName: Name(owner))) }
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty else { return .one(ZoneID(zoneName: Name(text))) }
        return .one(ZoneID(zoneName: Name(parts[1]), ownerRecordName: Name(parts[0])))
    }

    /// True if both identities name the same zone here. The owner matters only in the shared database, which has zones
    /// of several owners.
    package func isSame(_ left: ZoneID, _ right: ZoneID) -> Bool {
        left.zoneName == right.zoneName && (address.scope != .shared || left.ownerRecordName == right.ownerRecordName)
    }
}

// MARK: - Connections

extension DatabaseAddress {
    /// The same database, or for a connected container the nearest one that its connections reach.
    func reached(by connections: [ContainerConnection]) -> DatabaseAddress {
        guard let connection = connections.first(where: { $0.environment == environment }) ?? connections.first else {
            return self
        }
        return DatabaseAddress(
            container: container, environment: connection.environment,
            scope: connection.reach.contains(scope) ? scope : .public)
    }
}
