import RecordStore
import Records
import Testing

@Suite struct DistanceTests {
    @Test(arguments: [
        (Location(latitude: 0, longitude: 0), Location(latitude: 0, longitude: 0), 0.0),
        // A quarter of a meridian, and half of the equator, of a sphere of the mean radius.
        (Location(latitude: 0, longitude: 0), Location(latitude: 90, longitude: 0), 10_007_557.2),
        (Location(latitude: 0, longitude: -180), Location(latitude: 0, longitude: 0), 20_015_114.4),
        (Location(latitude: 10, longitude: 179.5), Location(latitude: 10, longitude: -179.5), 109_505.7),
    ])
    func goesAlongTheGreatCircle(from: Location, to: Location, metres: Double) {
        #expect(abs(from.distance(to: to) - metres) < 1)
        #expect(abs(to.distance(to: from) - metres) < 1)
    }
}
