internal import Records
internal import Text

/// Parses a location in one cell, as the CSV export writes it: `52.52, 13.405`.
enum CoordinatesText {
    /// - Returns: `nil` if the text is not two numbers, or they are beyond ±90 and ±180 degrees.
    static func location(of text: String) -> Location? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { Cell.text($0.trimmingWhiteSpace).number }
        guard parts.count == 2, let latitude = parts[0], let longitude = parts[1] else { return nil }
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        return Location(latitude: latitude, longitude: longitude)
    }

    /// True for the exact form of the export, in which both numbers have a fraction: `1, 2` is more likely a list.
    static func isExported(_ text: String) -> Bool {
        guard let location = location(of: text) else { return false }
        return text == "\(location.latitude), \(location.longitude)"
    }
}
