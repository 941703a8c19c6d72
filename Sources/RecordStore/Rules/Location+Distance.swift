internal import Foundation
public import Records

extension Location {
    /// The mean radius of the Earth in metres.
    static let earthRadius = 6_371_008.8

    /// Metres to the opposite point: no two places are farther apart.
    public static let earthHalfCircumference = earthRadius * .pi

    /// Metres along the great circle to another place, on a sphere of the Earth's mean radius (haversine formula).
    public func distance(to other: Location) -> Double {
        let radians = Double.pi / 180
        let halfLatitude = (other.latitude - latitude) * radians / 2
        let halfLongitude = (other.longitude - longitude) * radians / 2
        let a =
            sin(halfLatitude) * sin(halfLatitude)
            + cos(latitude * radians) * cos(other.latitude * radians) * sin(halfLongitude) * sin(halfLongitude)
        return 2 * Self.earthRadius * asin(min(1, a.squareRoot()))
    }
}
