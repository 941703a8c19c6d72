internal import JSON
internal import Records

extension FaultArea: CustomStringConvertible {
    /// Text for display: `everywhere`, or `iCloud.com.example.App, development, private database, zone Notes`.
    public var description: String {
        let parts = [
            container?.description, environment?.rawValue, scope.map { "\($0.rawValue) database" }, zoneID.map { "zone \($0.zoneName)" },
            user.map { "user \($0)" },
        ].compactMap(\.self)
        return parts.isEmpty ? "everywhere" : parts.joined(separator: ", ")
    }
}
