internal import RecordStore
internal import Records

/// How far around the place that is looked at something is rehearsed.
enum RehearsalPlace: Hashable {
    case everywhere, container, environment, database
    case zone(ZoneID)

    /// Zones that can be chosen.
    private static let zoneLimit = 200
    private static let zonePrefix = "zone:"

    static func allCases(in visit: Visit) -> [RehearsalPlace] {
        [.everywhere, .container, .environment, .database] + visit.zones.prefix(zoneLimit).map { .zone($0.zoneID) }
    }

    /// What forms send.
    func value(in place: Place) -> String {
        switch self {
        case .everywhere: "everywhere"
        case .container: "container"
        case .environment: "environment"
        case .database: "database"
        case .zone(let zoneID): Self.zonePrefix + place.zoneText(zoneID)
        }
    }

    /// - Throws: `RecordError` BAD_REQUEST for what no form sends.
    init(_ value: String, in place: Place) throws {
        switch value {
        case "everywhere": self = .everywhere
        case "container": self = .container
        case "environment": self = .environment
        case "database": self = .database
        default:
            guard value.hasPrefix(Self.zonePrefix),
                case .one(let zoneID) = Place.zone(String(value.dropFirst(Self.zonePrefix.count)), owner: nil, in: place.address.scope)
            else { throw RecordError(.badRequest, "Say where to rehearse: everywhere, container, environment, database, or a zone") }
            self = .zone(zoneID)
        }
    }

    func area(in place: Place) -> RehearsalArea {
        let address = place.address
        return switch self {
        case .everywhere: .everywhere
        case .container: RehearsalArea(container: address.container)
        case .environment: RehearsalArea(container: address.container, environment: address.environment)
        case .database: RehearsalArea(container: address.container, environment: address.environment, scope: address.scope)
        // Clients name a zone of their own with and without its owner; owners count only where zones of several meet.
        case .zone(let zoneID):
            RehearsalArea(
                container: address.container, environment: address.environment, scope: address.scope,
                zoneID: ZoneID(zoneName: zoneID.zoneName, ownerRecordName: address.scope == .shared ? zoneID.ownerRecordName : nil))
        }
    }
}
