public import JSON
public import Records

/// The area affected by a fault. `nil` members match everything.
public struct FaultArea: Sendable, Hashable {
    public static let everywhere = FaultArea()

    public var container: ContainerID?
    public var environment: Environment?
    public var scope: DatabaseScope?
    /// The zone; without an owner, zones of this name of all owners.
    public var zoneID: ZoneID?
    /// The user whose devices are notified. Only for faults of notifications.
    public var user: Name?

    public init(
        container: ContainerID? = nil, environment: Environment? = nil, scope: DatabaseScope? = nil, zoneID: ZoneID? = nil, user: Name? = nil
    ) {
        self.container = container
        self.environment = environment
        self.scope = scope
        self.zoneID = zoneID
        self.user = user
    }

    /// - Throws: `RecordError` BAD_REQUEST for a part that the fault does not take.
    public func check(for fault: InjectedFault) throws(RecordError) {
        if user != nil, !fault.shapesNotifications {
            throw RecordError(.badRequest, "'\(fault.rawValue)' takes no user: only rehearsals of notifications have one")
        }
        if fault == .assetGone, scope != nil || zoneID != nil {
            throw RecordError(
                .badRequest, "'\(fault.rawValue)' takes no database and no zone: the address of a file has neither; limit it to a container")
        }
    }

    /// The zones that a request accesses.
    public enum Reach: Sendable, Hashable {
        /// No zone, for example a list of zones.
        case database
        case zones([ZoneID])
        /// A query in all zones of the database.
        case allZones

        static func zone(_ zoneID: ZoneID) -> Reach { .zones([zoneID]) }
    }

    /// True if the area covers a container, environment and scope.
    /// - Parameter scope: `nil` for requests without a database, such as device registration.
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
                // A zone ID without an owner, or with a placeholder for the caller, matches any owner.
                let owner = asked.ownerRecordName.flatMap { ZoneID.currentOwnerNames.contains($0) ? nil : $0 }
                return asked.zoneName == zoneID.zoneName && (zoneID.ownerRecordName == nil || owner == nil || owner == zoneID.ownerRecordName)
            }
        }
    }
}
