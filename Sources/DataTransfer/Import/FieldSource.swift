internal import JSON
internal import Records

/// Where a field of the imported records comes from.
struct FieldSource: Sendable {
    enum Origin: Sendable, Hashable {
        case column(Name)
        /// Two columns that make a location.
        case coordinates(latitude: Name, longitude: Name)
    }

    let name: Name
    let type: FieldType
    let origin: Origin
}
