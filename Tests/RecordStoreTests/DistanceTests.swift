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

    private static let places = [-90, -89.999, -45.3, 0, 1e-9, 47.6, 90].flatMap { latitude in
        [-180, -179.9999999, -122.3, -0.1, 0, 0.1, 13.37, 179.5, 180].map {
            Location(latitude: latitude, longitude: $0)
        }
    }

    @Test("The meridian of 180° is one, and a pole one place, to the last bit")
    func placesWithTwoNames() {
        for place in Self.places {
            for latitude in [-60.0, 0, 33.3] {
                let (east, west) = (
                    Location(latitude: latitude, longitude: 180), Location(latitude: latitude, longitude: -180)
                )
                #expect(place.distance(to: east) == place.distance(to: west))
                #expect(east.distance(to: place) == west.distance(to: place))
                #expect(east.isSamePlace(as: west) && east.distance(to: west) == 0)
            }
            for latitude in [-90.0, 90] {
                let (here, there) = (
                    Location(latitude: latitude, longitude: place.longitude),
                    Location(latitude: latitude, longitude: 77)
                )
                #expect(place.distance(to: here) == place.distance(to: there))
                #expect(here.isSamePlace(as: there) && here.distance(to: there) == 0)
            }
            #expect(place.isSamePlace(as: place) && place.distance(to: place) == 0)
            // Its eastern and western neighbours are equally far away.
            let (left, right) = (
                Location(latitude: place.latitude, longitude: 179.25),
                Location(latitude: place.latitude, longitude: -179.25)
            )
            let line = Location(latitude: 10, longitude: 180)
            #expect(line.distance(to: left) == line.distance(to: right))
        }
        #expect(!Location(latitude: 1, longitude: 180).isSamePlace(as: Location(latitude: 2, longitude: -180)))
        #expect(!Location(latitude: 89, longitude: 0).isSamePlace(as: Location(latitude: 89, longitude: 1)))
        #expect(!Location(latitude: 90, longitude: 0).isSamePlace(as: Location(latitude: -90, longitude: 0)))
    }
}
