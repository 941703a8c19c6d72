internal import Console
internal import RecordStore
internal import Records

/// The scope of an injected fault, relative to the current place.
enum FaultPlace: Hashable {
    case everywhere, container, environment, database
    case zone(ZoneID)

    /// The maximum number of zones to choose from.
    private static let zoneLimit = 200
    private static let zonePrefix = "zone:"

    static func allCases(in visit: Visit) -> [FaultPlace] {
        [.everywhere, .container, .environment, .database] + visit.zones.prefix(zoneLimit).map { .zone($0.zoneID) }
    }

    /// The form value.
    func value(in place: Place) -> String {
        switch self {
        case .everywhere: "everywhere"
        case .container: "container"
        case .environment: "environment"
        case .database: "database"
        case .zone(let zoneID): Self.zonePrefix + place.zoneText(zoneID)
        }
    }

    /// - Throws: `RecordError` BAD_REQUEST for an invalid form value.
    init(_ value: String, in place: Place) throws {
        switch value {
        case "everywhere": self = .everywhere
        case "container": self = .container
        case "environment": self = .environment
        case "database": self = .database
        default:
            guard value.hasPrefix(Self.zonePrefix),
                case .one(let zoneID) = Place.zone(String(value.dropFirst(Self.zonePrefix.count)), owner: nil, in: place.address.scope)
            else { throw RecordError(.badRequest, "Choose where to rehearse: everywhere, container, environment, database, or a zone") }
            self = .zone(zoneID)
        }
    }

    func area(in place: Place) -> FaultArea {
        let address = place.address
        return switch self {
        case .everywhere: .everywhere
        case .container: FaultArea(container: address.container)
        case .environment: FaultArea(container: address.container, environment: address.environment)
        case .database: FaultArea(container: address.container, environment: address.environment, scope: address.scope)
        // Clients name their own zones with or without the owner. The owner matters only in the shared database, which has zones of several owners.
        case .zone(let zoneID):
            FaultArea(
                container: address.container, environment: address.environment, scope: address.scope,
                zoneID: ZoneID(zoneName: zoneID.zoneName, ownerRecordName: address.scope == .shared ? zoneID.ownerRecordName : nil))
        }
    }
}
