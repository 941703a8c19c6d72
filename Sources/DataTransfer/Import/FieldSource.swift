internal import JSON
internal import Records

/// The source of a field of imported records.
struct FieldSource: Sendable {
    enum Origin: Sendable, Hashable {
        case column(Name)
        /// A location from two columns.
        case coordinates(latitude: Name, longitude: Name)
    }

    let name: Name
    let type: FieldType
    let origin: Origin
}
