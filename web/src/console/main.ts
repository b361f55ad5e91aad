// The console: the pages of `brunt ui`.

import '../styles/base.css';
import './console.css';
import { mount } from 'svelte';
import { setIcon } from '../lib/icon';
import { View } from '../lib/view.svelte';
import App from './App.svelte';

const view = new View(navigator.language);
const target = document.getElementById('app');
setIcon();
if (target) mount(App, { target, props: { view } });
document.documentElement.dataset.ready = 'yes';
