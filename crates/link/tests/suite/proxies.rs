//! Networks of these tests: a proxy that delays, drops and reorders datagrams, and one that stalls a stream.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a network does to datagrams, in each direction.
#[derive(Clone, Copy)]
pub struct Weather {
    pub lost_per_mille: u64,
    pub shortest_ms: u64,
    pub longest_ms: u64,
}

/// A network that passes everything at once.
pub const FINE: Weather = Weather { lost_per_mille: 0, shortest_ms: 0, longest_ms: 0 };
/// A network that passes nothing.
pub const CUT: Weather = Weather { lost_per_mille: 1000, ..FINE };

/// A datagram that is due at a moment, with the socket that sends it and where to.
type Delayed = (Reverse<(Instant, u64)>, usize, SocketAddr, Vec<u8>);

/// A proxy for datagrams.
pub struct DatagramProxy {
    pub address: String,
    weather: Arc<Mutex<Weather>>,
}

/// What passes datagrams on: the front socket, and one for each client.
struct Passage {
    weather: Arc<Mutex<Weather>>,
    sockets: Mutex<Vec<Arc<UdpSocket>>>,
    chance: Mutex<u64>,
    due: Sender<Delayed>,
}

impl DatagramProxy {
    pub fn start(to: &str, weather: Weather) -> DatagramProxy {
        let to: SocketAddr = to.parse().unwrap();
        let front = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let address = front.local_addr().unwrap().to_string();
        let weather = Arc::new(Mutex::new(weather));
        let (due, delayed) = channel();
        let sockets = Mutex::new(vec![Arc::clone(&front)]);
        let passage = Arc::new(Passage { weather: Arc::clone(&weather), sockets, chance: Mutex::new(7), due });
        let sending = Arc::clone(&passage);
        std::thread::spawn(move || send_when_due(&sending, &delayed));
        std::thread::spawn(move || passage.forward(&front, to));
        DatagramProxy { address, weather }
    }

    pub fn set(&self, weather: Weather) {
        *self.weather.lock().unwrap() = weather;
    }
}

impl Passage {
    fn forward(self: Arc<Self>, front: &UdpSocket, to: SocketAddr) {
        let mut clients: HashMap<SocketAddr, usize> = HashMap::new();
        let mut buffer = [0; 65536];
        loop {
            let Ok((length, from)) = front.recv_from(&mut buffer) else { continue };
            let socket = *clients.entry(from).or_insert_with(|| self.answer(from));
            self.pass(socket, to, &buffer[..length]);
        }
    }

    /// Opens the socket of a client, whose answers go back to it.
    fn answer(self: &Arc<Self>, client: SocketAddr) -> usize {
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let number = {
            let mut sockets = self.sockets.lock().unwrap();
            sockets.push(Arc::clone(&socket));
            sockets.len() - 1
        };
        let passage = Arc::clone(self);
        std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            loop {
                let Ok((length, _)) = socket.recv_from(&mut buffer) else { continue };
                passage.pass(0, client, &buffer[..length]);
            }
        });
        number
    }

    fn pass(&self, socket: usize, to: SocketAddr, bytes: &[u8]) {
        let weather = *self.weather.lock().unwrap();
        if self.chance() % 1000 < weather.lost_per_mille {
            return;
        }
        let delay = weather.shortest_ms + self.chance() % (weather.longest_ms - weather.shortest_ms + 1);
        let due = Instant::now() + Duration::from_millis(delay);
        let _ = self.due.send((Reverse((due, self.chance())), socket, to, bytes.to_vec()));
    }

    fn chance(&self) -> u64 {
        let mut state = self.chance.lock().unwrap();
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }
}

fn send_when_due(passage: &Passage, delayed: &Receiver<Delayed>) {
    let mut waiting = BinaryHeap::<Delayed>::new();
    loop {
        let next = waiting
            .peek()
            .map_or(Duration::from_millis(50), |(Reverse((due, _)), ..)| due.saturating_duration_since(Instant::now()));
        match delayed.recv_timeout(next) {
            Ok(more) => waiting.push(more),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        while waiting.peek().is_some_and(|(Reverse((due, _)), ..)| *due <= Instant::now()) {
            let Some((_, socket, to, bytes)) = waiting.pop() else { break };
            let _ = passage.sockets.lock().unwrap()[socket].send_to(&bytes, to);
        }
    }
}

/// A proxy for streams that can hold back everything.
pub struct StreamProxy {
    pub address: String,
    stalled: Arc<Mutex<bool>>,
}

impl StreamProxy {
    pub fn start(to: &str) -> StreamProxy {
        let to = to.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let stalled = Arc::<Mutex<bool>>::default();
        let holding = Arc::clone(&stalled);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(&to)) else { continue };
                for (from, into) in [(&client, &server), (&server, &client)] {
                    let (from, into, held) =
                        (from.try_clone().unwrap(), into.try_clone().unwrap(), Arc::clone(&holding));
                    std::thread::spawn(move || pump(from, into, &held));
                }
            }
        });
        StreamProxy { address, stalled }
    }

    pub fn stall(&self, is_stalled: bool) {
        *self.stalled.lock().unwrap() = is_stalled;
    }
}

fn pump(mut from: TcpStream, mut into: TcpStream, stalled: &Mutex<bool>) {
    let mut buffer = [0; 65536];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        while *stalled.lock().unwrap() {
            std::thread::sleep(Duration::from_millis(10));
        }
        if into.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = into.shutdown(std::net::Shutdown::Both);
}
