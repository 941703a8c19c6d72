internal import Foundation
public import Records

extension Location {
    /// The mean radius of the Earth in metres.
    static let earthRadius = 6_371_008.8

    /// Metres to the antipode, the largest possible distance.
    public static let earthHalfCircumference = earthRadius * .pi

    /// All longitudes of the same place at this latitude, including this one: +180° and -180° are the same meridian.
    /// `nil` at a pole, where all longitudes are equal.
    public var equalLongitudes: [Double]? {
        if abs(latitude) == 90 { return nil }
        return abs(longitude) == 180 ? [180, -180] : [longitude]
    }

    /// True if both denote the same place, however it is written.
    public func isSamePlace(as other: Location) -> Bool {
        latitude == other.latitude && (longitude == other.longitude || (equalLongitudes?.contains(other.longitude) ?? true))
    }

    /// Distance in metres along the great circle on a sphere of the Earth's mean radius (haversine formula). Equal
    /// places give bitwise equal distances.
    public func distance(to other: Location) -> Double {
        let radians = Double.pi / 180
        let halfLatitude = (other.latitude - latitude) * radians / 2
        let halfLongitude = Self.degreesBetween(self, other) * radians / 2
        let a =
            sin(halfLatitude) * sin(halfLatitude)
            + cos(latitude * radians) * cos(other.latitude * radians) * sin(halfLongitude) * sin(halfLongitude)
        return 2 * Self.earthRadius * asin(min(1, a.squareRoot()))
    }

    /// Difference in longitude in degrees, the short way around; 0 if one place is a pole.
    private static func degreesBetween(_ left: Location, _ right: Location) -> Double {
        guard let from = left.equalLongitudes?.first, let to = right.equalLongitudes?.first else { return 0 }
        let degrees = abs(from - to)
        return degrees > 180 ? 360 - degrees : degrees
    }
}
