internal import JSON
public import Records

/// Where something is rehearsed. What is `nil` is not looked at, so that the area without anything is everywhere.
public struct RehearsalArea: Sendable, Hashable {
    public static let everywhere = RehearsalArea()

    public var container: ContainerID?
    public var environment: Environment?
    public var scope: DatabaseScope?
    /// The zone; without an owner, the zones of that name of all owners.
    public var zoneID: ZoneID?

    public init(container: ContainerID? = nil, environment: Environment? = nil, scope: DatabaseScope? = nil, zoneID: ZoneID? = nil) {
        self.container = container
        self.environment = environment
        self.scope = scope
        self.zoneID = zoneID
    }

    /// Which zones a request is about.
    public enum Reach: Sendable, Hashable {
        /// None: a list of zones, say.
        case database
        case zones([ZoneID])
        /// A query over the whole database.
        case allZones

        static func zone(_ zoneID: ZoneID) -> Reach { .zones([zoneID]) }
    }

    /// Whether the area covers a container and an environment, and within them a database.
    /// - Parameter scope: `nil` for what is about no database, such as the registration of a device.
    public func covers(_ container: ContainerID, _ environment: Environment, _ scope: DatabaseScope?) -> Bool {
        self.container.map { $0 == container } ?? true && self.environment.map { $0 == environment } ?? true
            && self.scope.map { $0 == scope } ?? true
    }

    func covers(_ address: DatabaseAddress, _ reach: Reach) -> Bool {
        covers(address.container, address.environment, address.scope) && covers(reach)
    }

    public func covers(_ reach: Reach) -> Bool {
        guard let zoneID else { return true }
        return switch reach {
        case .database: false
        case .allZones: true
        case .zones(let zoneIDs):
            zoneIDs.contains { asked in
                // An identity without an owner, and one that names the caller by a stand-in, can be any owner's.
                let owner = asked.ownerRecordName.flatMap { ZoneID.currentOwnerNames.contains($0) ? nil : $0 }
                return asked.zoneName == zoneID.zoneName && (zoneID.ownerRecordName == nil || owner == nil || owner == zoneID.ownerRecordName)
            }
        }
    }
}
